import type { Column } from './letter';

/** Max graphemes in a text column; longer texts are broken into lines. */
const widest = 40;

const gap = '  ';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

const lettersOf = (text: string): string[] => [...graphemes.segment(text)].map(({ segment }) => segment);

const widthOf = (text: string): number => lettersOf(text).length;

/** A table in plain text: columns padded with spaces, a line below the headings. Every row has one cell per column. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const headings = columns.map(({ heading }) => heading);
  const broken = [headings, ...rows].map((row) => row.map(linesOf));
  const widths = columns.map((_, at) => Math.max(...broken.flatMap((row) => (row[at] ?? []).map(widthOf))));
  const [head = [], ...body] = broken.map((row) => textRow(columns, widths, row));
  const rule = widths.map((width) => '-'.repeat(width)).join(gap);
  return [...head, rule, ...body.flat()].join('\n');
}

/** As many lines as the highest cell has. */
function textRow(
  columns: readonly Column[],
  widths: readonly number[],
  cells: readonly (readonly string[])[],
): readonly string[] {
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map(({ align }, at) => padded(cells[at]?.[line] ?? '', widths[at] ?? 0, align))
      .join(gap)
      .trimEnd(),
  );
}

function padded(text: string, width: number, align: Column['align']): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'end' ? spaces + text : text + spaces;
}

/** Breaks at spaces, and inside a word that is wider than the column. */
function linesOf(text: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap(piecesOf)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer) <= widest) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = word;
  }
  return [...lines, line];
}

function piecesOf(word: string): readonly string[] {
  const letters = lettersOf(word);
  const count = Math.max(1, Math.ceil(letters.length / widest));
  return Array.from({ length: count }, (_, at) => letters.slice(at * widest, (at + 1) * widest).join(''));
}
