// Carries out operations with the session manager of the real pi, and prints the files that it wrote.
// Standard input: a first line with the module's path and the folders, then one operation a line.
import { readFileSync } from "node:fs";
const [setup, ...operations] = readFileSync(0, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const { SessionManager } = await import(setup.module);
const session = SessionManager.create(setup.cwd, setup.folder);
const ids = [];
const id = (at) => (at === null || at === undefined ? null : ids[at]);
for (const op of operations) {
  switch (op.op) {
    case "message": ids.push(session.appendMessage(op.message)); break;
    case "thinking": ids.push(session.appendThinkingLevelChange(op.level)); break;
    case "model": ids.push(session.appendModelChange(op.provider, op.model)); break;
    case "compaction":
      ids.push(session.appendCompaction(op.summary, id(op.first), op.tokens, op.details, op.hook)); break;
    case "extension": ids.push(session.appendCustomEntry(op.type, op.data)); break;
    case "custom": ids.push(session.appendCustomMessageEntry(op.type, op.content, op.display, op.details)); break;
    case "label": ids.push(session.appendLabelChange(id(op.target), op.label)); break;
    case "name": ids.push(session.appendSessionInfo(op.name)); break;
    case "branch": session.branch(id(op.from)); break;
    case "start": session.resetLeaf(); break;
    case "summary": ids.push(session.branchWithSummary(id(op.from), op.summary, op.details, op.hook)); break;
  }
}
const whole = readFileSync(session.getSessionFile(), "utf8");
const leaf = session.getLeafId();
const context = session.buildSessionContext().messages;
const branch = readFileSync(session.createBranchedSession(leaf), "utf8");
console.log(JSON.stringify({ ids, leaf, whole, branch, context }));
