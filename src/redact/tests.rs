//! Tests of what is masked, and what is not.

use super::{Custom, Pattern, Redactor, Rules};
use crate::json::Json;
use crate::record::{Field, Kind, Record};
use std::sync::LazyLock;

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::of(&Custom::default()).expect("valid rules"));

/// Returns a text as a session without a folder shows it.
fn masked(text: &str) -> String {
    let redactor = Redactor::new(&RULES);
    let once = redactor.text(text).into_owned();
    assert_eq!(Redactor::new(&RULES).text(&once), once, "masking twice equals masking once");
    once
}

/// Joins the parts of a token, so that no file of the project contains one.
fn token(parts: &[&str]) -> String {
    parts.concat()
}

const LETTERS: &str = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6";

#[test]
fn tokens_are_masked_by_their_shapes() {
    for (parts, kind) in [
        (["AKIA", "IOSFODNN7EXAMPLE"], "AWS access key"),
        (["ASIA", "IOSFODNN7EXAMPLE"], "AWS access key"),
        (["ghp_", LETTERS], "GitHub token"),
        (["gho_", LETTERS], "GitHub token"),
        (["ghs_", LETTERS], "GitHub token"),
        (["github_pat_", "11ABCDEFG0aB3dE6gH9jK2_mN5pQ8sT1vW4yZ7"], "GitHub token"),
        (["glpat-", "aB3dE6gH9jK2mN5pQ8sT"], "GitLab token"),
        (["xoxb-", "123456789012-1234567890123-aB3dE6gH9jK2mN5p"], "Slack token"),
        (["sk-ant-", "api03-aB3dE6gH9jK2mN5pQ8sT"], "Anthropic key"),
        (["sk-", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9"], "OpenAI key"),
        (["sk-proj-", "aB3dE6gH9jK2mN5pQ8sT_1vW4-yZ7"], "OpenAI key"),
        (["AIza", "SyA-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0e"], "Google key"),
        (["sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"], "Stripe key"),
        (["rk_live_", "4eC39HqLyjWDarjtT1zdp7dc"], "Stripe key"),
        (["sk_test_", "4eC39HqLyjWDarjtT1zdp7dc"], "Stripe key"),
        (["npm_", LETTERS], "npm token"),
        (["pypi-", "AgEIcHlwaS5vcmcCJDAwMDAwMDAw"], "PyPI token"),
        (["hf_", LETTERS], "Hugging Face token"),
        (["SK", "0123456789abcdef0123456789abcdef"], "Twilio key"),
        (
            ["SG.", "aB3dE6gH9jK2mN5pQ8sT1v.W4yZ7bC0eF3hI6aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC"],
            "SendGrid key",
        ),
        (
            ["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"],
            "JSON web token",
        ),
        (["MTk4NjIyNDgz", "NDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"], "Discord token"),
        (["110201543", ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"], "Telegram token"),
    ] {
        let secret = token(&parts);
        for (before, after) in [("", ""), ("use ", "."), ("\"", "\","), ("x\\n", "\\n"), ("(", ")")]
        {
            let text = format!("{before}{secret}{after}");
            assert_eq!(masked(&text), format!("{before}[masked {kind} 1]{after}"), "{text}");
        }
    }
}

#[test]
fn values_are_masked_by_their_names() {
    for (text, expected) in [
        ("API_KEY=x9y8", "API_KEY=[masked API key 1]"),
        ("export DB_PASSWORD='hunter2'", "export DB_PASSWORD='[masked password 1]'"),
        ("POSTGRES_PASSWORD: swordfish", "POSTGRES_PASSWORD: [masked password 1]"),
        ("  password: swordfish\n", "  password: [masked password 1]\n"),
        ("\"api_key\": \"a1b2c3d4\"", "\"api_key\": \"[masked API key 1]\""),
        ("\\\"clientSecret\\\":\\\"a1b2c3d4\\\"", "\\\"clientSecret\\\":\\\"[masked secret 1]\\\""),
        ("password=\"swordfish\"", "password=\"[masked password 1]\""),
        ("--password hunter22", "--password [masked password 1]"),
        ("<password>hunter22</password>", "<password>[masked password 1]</password>"),
        ("?access_token=abc123def456&x", "?access_token=[masked token 1]&x"),
        ("Authorization: Bearer abc.DEF123456789012", "Authorization: Bearer [masked token 1]"),
        ("'Authorization': 'Basic YWRhOnNlY3JldA=='", "'Authorization': 'Basic [masked token 1]'"),
        ("X-Api-Key: 0123abcd4567", "X-Api-Key: [masked API key 1]"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [masked AWS secret key 1]",
        ),
        ("AccountKey=Zm9vYmFyMTIzNDU2Nzg5MA==;End=x", "AccountKey=[masked API key 1];End=x"),
        ("postgres://ada:pw1@db/x", "postgres://[masked credential 1]@db/x"),
    ] {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn code_and_prose_about_secrets_stay() {
    for text in [
        "tokens: 15006, cost: 0.0152",
        "token = get_token()",
        "let token: String = next_token(input);",
        "password: str, token: &str",
        "const token = process.env.GITHUB_TOKEN;",
        "api_key=os.environ[\"API_KEY\"]",
        "API_KEY=$OTHER_KEY",
        "API_KEY=${KEY}",
        "TOKEN=$(cat token.txt)",
        "MAX_TOKENS=4096",
        "PASSWORD_FILE=/run/secrets/x",
        "PWD=/work/project",
        "\"type\": \"password\"",
        "\"token\": \"keyword.operator\"",
        "the secret: never give up",
        "password: string;",
        "API_KEY=<your key>",
        "if token == expected_token1 {",
        "task-runner-with-a-very-long-name-123456789",
        "class sk-estimator-doc-link sk-container-id-1",
        "git@github.com:tides/tides.git",
        "@app.route and left@2x.png and react@18.2.0",
        "https://example.org/home/about",
        "src/home/index.ts",
        "/home/$USER and /Users/Shared",
        "-----BEGIN CERTIFICATE-----",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "npm_config_registry and hf_hub_download",
        "pub const DIRECT_KEY: u32 = 4;",
        "const PAD_KEY: VIRTUAL_KEY = 22528u16;",
        "static TOKEN: windows::core::PCWSTR = x;",
        "    private_key: ed25519.Ed25519PrivateKey,",
        "    token_stream: __IncompleteArrayField<u8>,",
        "Token.String: \"#AB0909\", TOKEN: while (1)",
        "authorization = base64.decodebytes(x)",
        "Authorization: Bearer https://example.org/rfc6750",
        "CHALLENGE_PASSWORD: \"challengePassword\"",
        "self._passphrase_userdata = userdata\n",
        "pub const AD_PASSWORD: WIN32_ERROR_29 = 3; let key_token: _bindgen_ty_30;",
        "IQCCyABIARHBEADQCABLQAAQYA",
        "Co-Authored-By: Claude <noreply@anthropic.com>",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn people_and_places_are_masked() {
    for (text, expected) in [
        ("Ada <ada.l@mail.example.org>", "Ada <[masked e-mail 1]>"),
        ("x\\nada@example.org", "x\\n[masked e-mail 1]"),
        ("ada\\u0040example.org", "[masked e-mail 1]"),
        ("/home/ada/src and /Users/ada.", "~/src and ~."),
        ("C:\\Users\\Ada Love\\x, C:\\\\Users\\\\ada\\\\x", "~\\x, ~\\\\x"),
        ("file:///home/ada/x", "file://~/x"),
        ("\\/home\\/ada\\/x", "~\\/x"),
        ("a\\n/home/ada/x", "a\\n~/x"),
        (
            "ada@example.org eve@example.org ada@example.org",
            "[masked e-mail 1] [masked e-mail 2] [masked e-mail 1]",
        ),
    ] {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn names_of_users_are_learned_from_folders() {
    let redactor = Redactor::new(&RULES);
    redactor.learn("/home/ada/tides");
    redactor.learn("/home/user/tides");
    let text = "-home-ada-tides, ada:ADA, adapter, /home/ada/x, user";
    assert_eq!(redactor.text(text), "-home-[user]-tides, [user]:[user], adapter, ~/x, user");
}

#[test]
fn private_keys_are_masked_whole_and_cut() {
    let (begin, end) = (
        token(&["-----BEGIN RSA ", "PRIVATE KEY-----"]),
        token(&["-----END RSA ", "PRIVATE KEY-----"]),
    );
    let body = "MIIEpAIBAAKCAQEA7bq7\nT1vW4yZ7bC0eF3hI6aB3\nab==";
    for (text, expected) in [
        (format!("a\n{begin}\n{body}\n{end}\nb"), "a\n[masked private key 1]\nb"),
        (format!("a\n{begin}\n{body}\n\nNot a key."), "a\n[masked private key 1]\n\nNot a key."),
        (format!("see {begin} there"), "see [masked private key 1] there"),
        (
            format!("key = \"{begin}\\n{}\\n{end}\\n\"", body.replace('\n', "\\n")),
            "key = \"[masked private key 1]\\n\"",
        ),
        (
            format!("     1→{begin}\n     2→MIIEpAIBAAKCAQEA7bq7\n     3→{end}"),
            "     1→[masked private key 1]",
        ),
        (
            format!("x\nT1vW4yZ7bC0eF3hI6aB3\nT1vW4yZ7bC0eF3hI6aB3\n{end}"),
            "x\n[masked private key 1]",
        ),
    ] {
        assert_eq!(masked(&text), expected, "{text}");
    }
}

#[test]
fn patterns_and_words_of_the_user_are_masked() {
    let pattern = Pattern { name: "ticket".into(), regex: "T-[0-9]{4}".into() };
    let custom =
        Custom { patterns: vec![pattern], words: vec!["Kraken".into()], users: vec!["eve".into()] };
    let rules = Rules::of(&custom).expect("valid rules");
    let text =
        Redactor::new(&rules).text("eve: T-1234 of Kraken, not Krakens or T-12").into_owned();
    assert_eq!(text, "[user]: [masked ticket 1] of [masked word 1], not Krakens or T-12");
    assert_eq!(Redactor::new(&rules).text(&text), text);
    let bad = Pattern { name: "x".into(), regex: "(".into() };
    assert!(Rules::of(&Custom { patterns: vec![bad], ..Custom::default() }).is_err());
}

#[test]
fn strings_of_json_are_masked_and_other_bytes_stay() {
    let redactor = Redactor::new(&RULES);
    for (json, expected) in [
        (
            r#"{ "a" : 1.50, "mail":"ada\u0040example.org" }"#,
            r#"{ "a" : 1.50, "mail":"[masked e-mail 1]" }"#,
        ),
        (
            r#"{"password":"swordfish","x":"\/w"}"#,
            r#"{"password":"[masked password 1]","x":"\/w"}"#,
        ),
        (r#""{\"token\":\"a1b2c3\",\"n\":1}""#, r#""{\"token\":\"[masked token 1]\",\"n\":1}""#),
        (r#"{"\/home\/ada\/x":["\/home\/ada"]}"#, r#"{"~/x":["~"]}"#),
        (
            r#"{"password":["swordfish"],"tokens":"a1b2c3"}"#,
            r#"{"password":["swordfish"],"tokens":"a1b2c3"}"#,
        ),
    ] {
        let json: Json = json.parse().expect("JSON");
        let masked = redactor.json(&json).unwrap_or(json);
        assert_eq!(String::from_utf8_lossy(masked.as_bytes()), expected);
    }
}

#[test]
fn records_keep_their_identifiers() {
    let redactor = Redactor::new(&RULES);
    let mut record = Record::new(Kind::Session)
        .with(Field::Id, Json::string("ada@example.org"))
        .with(Field::Cwd, Json::string("/home/ada/tides"))
        .with(Field::Name, Json::string("Mail of ada"));
    redactor.record(&mut record);
    let text = |field| record.node.text(field);
    assert_eq!(text(Field::Id).as_deref(), Some("ada@example.org"));
    assert_eq!(text(Field::Cwd).as_deref(), Some("~/tides"));
    assert_eq!(text(Field::Name).as_deref(), Some("Mail of [user]"));
}

#[test]
fn words_of_names_are_found_at_any_place_of_them() {
    for (text, expected) in [
        ("SECRET_KEY=x9y8z7w6", "SECRET_KEY=[masked secret 1]"),
        ("DJANGO_SECRET_KEY='x9y8-z7w6'", "DJANGO_SECRET_KEY='[masked secret 1]'"),
        ("\"secret_key\": \"x9y8z7w6\"", "\"secret_key\": \"[masked secret 1]\""),
        ("AWS_SECRET_KEY=x9y8z7w6", "AWS_SECRET_KEY=[masked AWS secret key 1]"),
        ("CLIENT_SECRET_PROD=x9y8z7w6", "CLIENT_SECRET_PROD=[masked secret 1]"),
        ("SECRET_KEY_BASE=x9y8z7w6", "SECRET_KEY_BASE=[masked secret 1]"),
        ("CREDENTIALS=x9y8z7w6v5", "CREDENTIALS=[masked secret 1]"),
        ("DB_PASS=swordfish", "DB_PASS=[masked password 1]"),
        ("ADMIN_PW=sword2fish", "ADMIN_PW=[masked password 1]"),
        ("smtpPass: 'sword2fish'", "smtpPass: '[masked password 1]'"),
        ("HUB_AUTH=x9y8z7w6v5", "HUB_AUTH=[masked secret 1]"),
        ("{\"auth\": \"YWRhOlp4OVF3OEVyNw==\"}", "{\"auth\": \"[masked secret 1]\"}"),
        ("client-key-data: LS0tLS1CRUdJTiBS", "client-key-data: [masked secret 1]"),
        ("X-Api-Key: 98765432101234", "X-Api-Key: [masked API key 1]"),
        ("The password is KestrelfEwg3.", "The password is [masked password 1]."),
        ("Cookie: session=Zx9Qw8Er7; theme=dark", "Cookie: session=[masked cookie 1]; theme=dark"),
        (
            "Set-Cookie: sid=Zx9Qw8Er7; Path=/longer",
            "Set-Cookie: sid=[masked cookie 1]; Path=/longer",
        ),
    ] {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn values_are_masked_to_their_ends() {
    for (text, expected) in [
        ("DB_PASSWORD=Tr0ub4dor&3xyz", "DB_PASSWORD=[masked password 1]"),
        ("DB_PASSWORD=Tr0u;b4,dor)3\n", "DB_PASSWORD=[masked password 1]\n"),
        ("DB_PASSWORD=Tr0ub4dor; psql", "DB_PASSWORD=[masked password 1]; psql"),
        ("DB_PASSWORD=Tr0ub4dor&&psql", "DB_PASSWORD=[masked password 1]&&psql"),
        ("PASSWORD=Tr0ub4dor;Encrypt=True", "PASSWORD=[masked password 1];Encrypt=True"),
        ("?password=Tr0ub4dor12&x=1", "?password=[masked password 1]&x=1"),
        ("a: {PASSWORD: Tr0ub4dor12, b: 1}", "a: {PASSWORD: [masked password 1], b: 1}"),
        (
            "{\\\"password\\\": \\\"a1\\\\\\\"b2\\\"}",
            "{\\\"password\\\": \\\"[masked password 1]\\\"}",
        ),
        ("password: \"correct horse battery\"", "password: \"[masked password 1]\""),
        ("password:\n  Zx9Qw8Er7\nnext: 1", "password:\n  [masked password 1]\nnext: 1"),
        ("password: >-\n  Hunter2x\n  Y9z8w7\nn: 1", "password: >-\n  [masked password 1]\nn: 1"),
        ("x.yml:12:  password: swordfish", "x.yml:12:  password: [masked password 1]"),
    ] {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn options_and_files_of_programs_are_masked() {
    for (text, expected) in [
        ("curl -u ada:Zx9Qw8Er7 http://x", "curl -u ada:[masked password 1] http://x"),
        ("curl -s --user 'ada:Zx9 Qw' x", "curl -s --user 'ada:[masked password 1]' x"),
        ("mysql -u root -pZx9Qw8Er7 db", "mysql -u root -p[masked password 1] db"),
        ("sshpass -p swordfish ssh x", "sshpass -p [masked password 1] ssh x"),
        ("docker login -u ada -p Zx9Qw8Er7 r", "docker login -u ada -p [masked password 1] r"),
        ("redis-cli -h x -a Zx9Qw8Er7 ping", "redis-cli -h x -a [masked password 1] ping"),
        (
            "machine h login ada password swordfish",
            "machine h login ada password [masked password 1]",
        ),
        (
            "machine h\n  login ada\n  password a1b2",
            "machine h\n  login ada\n  password [masked password 1]",
        ),
        ("db.example:5432:q:ada:Zx9Qw8Er7\n", "db.example:5432:q:ada:[masked password 1]\n"),
    ] {
        assert_eq!(masked(text), expected);
    }
    for text in [
        "curl -u user:password x",
        "curl -u \"$USER:$TOKEN\" x",
        "mysql -u root -p db",
        "sshpass -p <password> ssh x; docker login -p $TOKEN",
        "machine learning password policies",
        "src/x.rs:1234:5:error:abc123",
        "Cookie: none, cookie = getCookie(name)",
        "tokens: enabled, bypass: step12345, first_pass = count2",
        "password: \"Enter your password\"",
        "password:\n  type: string\n",
        "the token is base64-encoded, the password is sha256-hashed",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn tokens_are_masked_however_they_are_spelled() {
    let whole = token(&["ghp_", LETTERS]);
    let (head, tail) = whole.split_at(20);
    let coded = crate::json::text::to_base64(format!("a token: {whole}").as_bytes());
    for text in [
        format!("{head}\n{tail}"),
        format!("{head}\\\n{tail}"),
        format!("{head}\u{200b}{tail}"),
        whole.replace('_', "%5F"),
        whole.replace('_', "&#95;"),
        whole.replace('_', "\\u005f"),
        coded,
    ] {
        assert_eq!(masked(&format!("x {text} y")), "x [masked GitHub token 1] y", "{text}");
    }
    assert_eq!(
        masked(&format!("{whole}\nNext 12 words")),
        "[masked GitHub token 1]\nNext 12 words"
    );
}

#[test]
fn damaged_lines_are_masked_as_the_texts_that_they_spell() {
    let whole = token(&["ghp_", LETTERS]);
    let (head, tail) = whole.split_at(20);
    let shown = |line: String| {
        let mut record =
            Record::new(Kind::Opaque).with_some(Field::Text, Some(Json::string(&line)));
        Redactor::new(&RULES).record(&mut record);
        record.node.text(Field::Text).expect("a line")
    };
    for (line, masked) in [
        (format!(r#"{{"a":"x {head}\n{tail} y"#), r#"{"a":"x [masked GitHub token 1] y"#),
        (
            format!(r#"{{"a":"{whole}","b":"é\u00e"#),
            r#"{"a":"[masked GitHub token 1]","b":"é\u00e"#,
        ),
        (
            r#"{"password":"Zx9Qw8Er7","b":"c\"#.to_owned(),
            r#"{"password":"[masked password 1]","b":"c\"#,
        ),
        (format!("export T={whole}"), "export T=[masked GitHub token 1]"),
        ("{\"a\":\"b\\q\",\"c".to_owned(), "{\"a\":\"b\\q\",\"c"),
    ] {
        assert_eq!(shown(line), masked);
    }
}
