/**
 * The records of a CSV text (RFC 4180; lines may also end in a bare LF). Empty lines are skipped.
 *
 * @throws Error with the line number when a quote is not closed or occurs inside an unquoted field
 */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const field = text[at] === '"' ? quotedField(text, at, line) : plainField(text, at, line);
    fields.push(field.value);
    line += field.value.split('\n').length - 1;
    at = field.end;
    if (text[at] === ',') {
      at += 1;
      if (at < text.length) continue;
      fields.push('');
    }
    if (fields.length > 1 || fields[0] !== '') records.push(fields);
    fields = [];
    if (text.startsWith('\r\n', at)) at += 2;
    else if (text[at] === '\n') at += 1;
    line += 1;
  }
  return records;
}

interface Field {
  readonly value: string;
  /** Position of the comma, the end of the line or the end of the text. */
  readonly end: number;
}

function plainField(text: string, start: number, line: number): Field {
  const rest = /[,\r\n]/g;
  rest.lastIndex = start;
  const end = rest.exec(text)?.index ?? text.length;
  const value = text.slice(start, end);
  if (value.includes('"')) throw new Error(`Line ${line}: a field that is not quoted contains a quote.`);
  return { value, end: checkedEnd(text, end, line) };
}

function quotedField(text: string, start: number, line: number): Field {
  for (let close = text.indexOf('"', start + 1); close !== -1; close = text.indexOf('"', close + 2)) {
    if (text[close + 1] === '"') continue;
    return {
      value: text.slice(start + 1, close).replaceAll('""', '"'),
      end: checkedEnd(text, close + 1, line),
    };
  }
  throw new Error(`Line ${line}: a quoted field is not closed.`);
}

function checkedEnd(text: string, end: number, line: number): number {
  if (end === text.length || /^(?:,|\r?\n)/.test(text.slice(end, end + 2))) return end;
  throw new Error(`Line ${line}: a field is followed by neither a comma nor the line's end.`);
}
