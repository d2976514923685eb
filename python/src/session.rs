//! The class `Session`.

use crate::error::{raised, raised_in};
use copyist::context::Form;
use copyist::error::Result as Outcome;
use copyist::manager::{self, Compaction, CustomMessage, Noted, to_value};
use copyist::record::Record;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A session of an agent, in memory, and the file that it is kept in.
///
/// >>> import copyist
/// >>> s = copyist.Session.in_memory("pi", "/work")
/// >>> question = s.append_message({"role": "user", "content": "Why is the sky blue?"})
/// >>> [m["content"] for m in s.messages()]
/// ['Why is the sky blue?']
#[pyclass(module = "copyist")]
pub struct Session(manager::Session);

type Any = Py<PyAny>;

fn given(py: Python<'_>, value: &Value) -> PyResult<Any> {
    Ok(pythonize(py, value)?.unbind())
}

fn given_all<'r>(py: Python<'_>, records: impl IntoIterator<Item = &'r Record>) -> PyResult<Any> {
    given(py, &Value::Array(records.into_iter().map(to_value).collect()))
}

fn taken(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // What JSON cannot express is a wrong value, whoever finds that.
    depythonize(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn maybe(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
    value.map(taken).transpose()
}

/// Does work without the lock of the interpreter.
fn freely<T: Send>(py: Python<'_>, work: impl FnOnce() -> Outcome<T> + Send) -> PyResult<T> {
    // An exception can be made only while the interpreter's lock is held.
    py.detach(|| work().map_err(Box::new)).map_err(|error| raised(py, &error))
}

#[pymethods]
impl Session {
    /// Open the session in a file of any format.
    ///
    /// >>> s = copyist.create("pi", "/work", "sessions")
    /// >>> hello = s.append_message({"role": "user", "content": "Hello"})
    /// >>> [m["content"] for m in copyist.open(s.path).messages()]
    /// ['Hello']
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| manager::Session::open(&path).map_err(Box::new));
        opened.map(Self).map_err(|error| raised_in(py, &path, &error))
    }

    /// Begin a session of a format, for the folder `cwd`, in memory alone.
    ///
    /// >>> copyist.in_memory("pi", "/work")
    /// <copyist.Session pi@3, in memory>
    #[staticmethod]
    fn in_memory(py: Python<'_>, format: &str, cwd: &str) -> PyResult<Self> {
        freely(py, || manager::Session::in_memory(format, cwd)).map(Self)
    }

    /// Begin a session of a format, for the folder `cwd`, in a file below `folder` that is called as
    /// the agent calls it. The file is written with the first entry.
    ///
    /// >>> s = copyist.create("pi", "/work", "sessions")
    /// >>> s.path.parent.name, s.path.suffix, s.path.exists()
    /// ('sessions', '.jsonl', False)
    #[staticmethod]
    fn create(py: Python<'_>, format: &str, cwd: &str, folder: PathBuf) -> PyResult<Self> {
        freely(py, || manager::Session::create(format, cwd, folder)).map(Self)
    }

    /// Open the newest session for `cwd` in a folder, or begin one.
    ///
    /// >>> s = copyist.create("pi", "/work", "mine")
    /// >>> hello = s.append_message({"role": "user", "content": "Hello"})
    /// >>> copyist.continue_recent("pi", "/work", "mine").leaf == hello
    /// True
    #[staticmethod]
    fn continue_recent(py: Python<'_>, format: &str, cwd: &str, folder: PathBuf) -> PyResult<Self> {
        freely(py, || manager::Session::continue_recent(format, cwd, folder)).map(Self)
    }

    /// The format and its version: `pi@3`.
    #[getter]
    fn format(&self) -> String {
        let (name, version) = self.0.format();
        format!("{name}@{version}")
    }

    /// The file, or None.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.0.file().map(ToOwned::to_owned)
    }

    /// The identifier of the entry that the next one follows, or None.
    #[getter]
    fn leaf(&self) -> Option<String> {
        self.0.leaf()
    }

    /// The session record.
    #[getter]
    fn header(&self, py: Python<'_>) -> PyResult<Any> {
        given(py, &to_value(self.0.header()))
    }

    /// The messages on the path to the leaf.
    fn messages(&self, py: Python<'_>) -> PyResult<Any> {
        let messages = freely(py, || self.0.messages())?;
        given(py, &Value::Array(messages))
    }

    /// All records behind the header, in the order of the file.
    fn entries(&self, py: Python<'_>) -> PyResult<Any> {
        given_all(py, self.0.entries())
    }

    /// The entry with this identifier, or None.
    fn entry(&self, py: Python<'_>, id: &str) -> PyResult<Option<Any>> {
        self.0.entry(id).map(|record| given(py, &to_value(record))).transpose()
    }

    /// The entries from the root to this one, or to the leaf.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> second = s.append_message({"role": "assistant", "content": [{"type": "text", "text": "Hi"}]})
    /// >>> [e["id"] == id for e, id in zip(s.path_to(), [first, second])]
    /// [True, True]
    #[pyo3(signature = (to=None))]
    fn path_to(&self, py: Python<'_>, to: Option<&str>) -> PyResult<Any> {
        let path = self.0.path(to).map_err(|error| raised(py, &error))?;
        given_all(py, path)
    }

    /// The entries whose parent this is, or the roots.
    #[pyo3(signature = (parent=None))]
    fn children(&self, py: Python<'_>, parent: Option<&str>) -> PyResult<Any> {
        given_all(py, self.0.children(parent))
    }

    /// The links between the entries: a list of `id`, `label`, `parent` and `children`.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> s.tree() == [{"id": first, "label": None, "parent": None, "children": []}]
    /// True
    fn tree(&self, py: Python<'_>) -> PyResult<Any> {
        let tree = self.0.tree();
        let id = |place: &usize| tree.nodes.get(*place).map(|node| node.id.clone());
        let node = |node: &manager::TreeNode| {
            let children: Vec<_> = node.children.iter().filter_map(id).collect();
            let parent = node.parent.as_ref().and_then(id);
            json!({"id": node.id, "label": node.label, "parent": parent, "children": children})
        };
        given(py, &Value::Array(tree.nodes.iter().map(node).collect()))
    }

    /// The label of an entry, or None.
    fn label(&self, id: &str) -> Option<String> {
        self.0.label(id)
    }

    /// Return the messages that the agent would send to a model, in its own shape or, with `as_`, as
    /// "openai", "anthropic" or "canonical".
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> s.context("anthropic")["messages"][0]["role"]
    /// 'user'
    #[pyo3(signature = (as_=None))]
    fn context(&self, py: Python<'_>, as_: Option<&str>) -> PyResult<Any> {
        let form = match as_ {
            None => Form::Own,
            Some("openai") => Form::OpenAi,
            Some("anthropic") => Form::Anthropic,
            Some("canonical") => Form::Canonical,
            Some(other) => {
                return Err(PyValueError::new_err(format!("no shape is called {other}")));
            }
        };
        let context = freely(py, || self.0.context(form))?;
        given(py, &context)
    }

    /// Append a message, `{"role": …, "content": …}`, and return its identifier. It is on the disk
    /// then.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> s.append_message({"role": "user", "content": "Hello"}) == s.leaf
    /// True
    fn append_message(&mut self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<String> {
        let message = taken(message)?;
        freely(py, || self.0.append_message(message))
    }

    /// Append the choice of another thinking level.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> level = s.append_thinking_change("high")
    /// >>> s.entry(level)["level"]
    /// 'high'
    fn append_thinking_change(&mut self, py: Python<'_>, level: &str) -> PyResult<String> {
        freely(py, || self.0.append_thinking_change(level))
    }

    /// Append the choice of another model.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> choice = s.append_model_change("anthropic", "claude")
    /// >>> s.entry(choice)["model"]
    /// 'claude'
    fn append_model_change(
        &mut self,
        py: Python<'_>,
        provider: &str,
        model: &str,
    ) -> PyResult<String> {
        freely(py, || self.0.append_model_change(provider, model))
    }

    /// Append a summary that takes the place of the messages before `first_kept`.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> c = s.append_compaction("They greeted.", first_kept=first, tokens_before=900)
    /// >>> s.entry(c)["summary"]
    /// 'They greeted.'
    #[pyo3(signature = (summary, first_kept=None, tokens_before=0, details=None, from_hook=None))]
    fn append_compaction(
        &mut self,
        py: Python<'_>,
        summary: String,
        first_kept: Option<String>,
        tokens_before: u64,
        details: Option<&Bound<'_, PyAny>>,
        from_hook: Option<bool>,
    ) -> PyResult<String> {
        let noted = Noted { details: maybe(details)?, from_hook };
        let compaction = Compaction { summary, first_kept, tokens_before, noted };
        freely(py, || self.0.append_compaction(compaction))
    }

    /// Append data of an extension, which the model does not see.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> note = s.append_extension("todo", {"open": 3})
    /// >>> s.entry(note)["kind"]
    /// 'extension'
    #[pyo3(signature = (custom_type, data=None))]
    fn append_extension(
        &mut self,
        py: Python<'_>,
        custom_type: &str,
        data: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let data = maybe(data)?;
        freely(py, || self.0.append_extension(custom_type, data))
    }

    /// Append a message of an extension, which the model sees.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> note = s.append_custom_message("todo", "Three tasks are open.")
    /// >>> s.leaf == note
    /// True
    #[pyo3(signature = (custom_type, content, display=true, details=None))]
    fn append_custom_message(
        &mut self,
        py: Python<'_>,
        custom_type: String,
        content: &Bound<'_, PyAny>,
        display: bool,
        details: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let (content, details) = (taken(content)?, maybe(details)?);
        let message = CustomMessage { custom_type, content, display, details };
        freely(py, || self.0.append_custom_message(message))
    }

    /// Put a label on an entry, or take it away.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> mark = s.append_label(first, "start")
    /// >>> s.label(first)
    /// 'start'
    #[pyo3(signature = (target, label=None))]
    fn append_label(
        &mut self,
        py: Python<'_>,
        target: &str,
        label: Option<&str>,
    ) -> PyResult<String> {
        freely(py, || self.0.append_label(target, label))
    }

    /// Give the session a name.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> named = s.append_name("Greeting")
    /// >>> s.leaf == named
    /// True
    fn append_name(&mut self, py: Python<'_>, name: &str) -> PyResult<String> {
        freely(py, || self.0.append_name(name))
    }

    /// Make an entry the leaf; without one, go before the first. Nothing is written.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> a = s.append_message({"role": "assistant", "content": [{"type": "text", "text": "Hi"}]})
    /// >>> s.branch(first)
    /// >>> b = s.append_message({"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]})
    /// >>> len(s.children(first))
    /// 2
    #[pyo3(signature = (from_=None))]
    fn branch(&mut self, py: Python<'_>, from_: Option<&str>) -> PyResult<()> {
        freely(py, || match from_ {
            Some(from) => self.0.branch(from),
            None => self.0.branch_from_start(),
        })
    }

    /// Go back to an entry, and append a summary of the branch that is left.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> b = s.branch_with_summary(first, "That led nowhere.")
    /// >>> s.entry(b)["parent"] == first
    /// True
    #[pyo3(signature = (from_, summary, details=None, from_hook=None))]
    fn branch_with_summary(
        &mut self,
        py: Python<'_>,
        from_: Option<&str>,
        summary: &str,
        details: Option<&Bound<'_, PyAny>>,
        from_hook: Option<bool>,
    ) -> PyResult<String> {
        let noted = Noted { details: maybe(details)?, from_hook };
        freely(py, || self.0.branch_with_summary(from_, summary, noted))
    }

    /// Begin a new session with the entries on the path to `at`, or to the leaf.
    ///
    /// >>> s = copyist.in_memory("pi", "/work")
    /// >>> first = s.append_message({"role": "user", "content": "Hello"})
    /// >>> s.fork(first).messages() == s.messages()
    /// True
    #[pyo3(signature = (at=None))]
    fn fork(&self, py: Python<'_>, at: Option<&str>) -> PyResult<Self> {
        freely(py, || self.0.fork(at)).map(Self)
    }

    fn __repr__(&self) -> String {
        let (name, version) = self.0.format();
        let place =
            self.0.file().map_or_else(|| "in memory".to_owned(), |p| p.display().to_string());
        format!("<copyist.Session {name}@{version}, {place}>")
    }
}
