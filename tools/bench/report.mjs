// Writes docs/benchmarks.md: one section per benchmark, replaced by each run.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import { workspaceRoot } from '../build/bundle.mjs';

const page = path.join(workspaceRoot, 'docs/benchmarks.md');
const preface = `# Benchmarks

\`npm run bench -- <name>\` writes one section. Everything in a section was measured in one run on one machine, together with a
baseline of that machine. Compare ratios rather than numbers.
`;

/** @param {{ name: string, text: string }} section its text begins with a heading of the second level */
export async function writeSection({ name, text }) {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const old = existsSync(page) ? readFileSync(page, 'utf8') : preface;
  const block = `${begin}\n\n${text.trim()}\n\n${end}`;
  const [start, stop] = [old.indexOf(begin), old.indexOf(end)];
  const fresh =
    start === -1
      ? `${old.trimEnd()}\n\n${block}\n`
      : old.slice(0, start) + block + old.slice(stop + end.length);
  writeFileSync(page, await format(fresh, { ...(await resolveConfig(page)), filepath: page }));
}

/** A Markdown table. @param {readonly (readonly (string | number)[])[]} rows the first one is the head */
export function table(rows) {
  const [head = [], ...body] = rows.map((row) => row.map(String));
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}
