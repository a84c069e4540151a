// Lints texts that are not in files. ESLint loads its configuration with a native import(), which Jest's sandbox does
// not allow, so the canary uses this process: [{ filePath, text }] on standard input, the messages of each on output.
import { text } from 'node:stream/consumers';
import { ESLint } from 'eslint';

const eslint = new ESLint();
const results = [];
for (const { filePath, text: source } of JSON.parse(await text(process.stdin))) {
  const [result] = await eslint.lintText(source, { filePath });
  results.push((result?.messages ?? []).map(({ ruleId, message }) => `${ruleId}: ${message}`));
}
process.stdout.write(JSON.stringify(results));
