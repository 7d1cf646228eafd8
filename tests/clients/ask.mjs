// Sends each statement of standard input, which are separated by zero bytes; writes results as JSON lines.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [folder, port, user] = process.argv.slice(2);
const { Client, types } = createRequire(`${folder}/package.json`)("pg");
types.setTypeParser(types.builtins.DATE, (text) => text); // not as midnight of some zone
const line = new Client({ host: "127.0.0.1", port: Number(port), user, password: process.env.PGPASSWORD, database: "errorfloor" });
await line.connect();
for (const one of readFileSync(0, "utf8").split("\0")) {
  try {
    const found = await line.query({ text: one, rowMode: "array", values: [] });
    const names = found.fields.map((field) => field.name);
    console.log(JSON.stringify({ names, rows: found.rows }));
  } catch (problem) {
    console.log(JSON.stringify({ error: problem.message, state: problem.code }));
  }
}
await line.end();
