/** A file that is no CSV, and where. */
export class CsvFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(`Line ${line}: ${message}`);
  }
}

export interface CsvRow {
  /** Where it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * RFC 4180: fields in quotation marks may hold commas, line breaks and doubled quotation marks. Lines may end as they do on any system,
 * and a byte order mark is passed over; lines without anything are left out.
 *
 * @throws CsvFault
 */
export function readCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  const reader = new CsvReader(text.startsWith('\ufeff') ? text.slice(1) : text);
  for (let row = reader.row(); row !== null; row = reader.row())
    if (row.fields.length > 1 || row.fields[0] !== '') rows.push(row);
  return rows;
}

class CsvReader {
  private at = 0;
  private line = 1;

  constructor(private readonly text: string) {}

  row(): CsvRow | null {
    if (this.at >= this.text.length) return null;
    const { line } = this;
    const fields = [this.field()];
    while (this.text[this.at] === ',') {
      this.at += 1;
      fields.push(this.field());
    }
    if (this.text[this.at] === '\r') this.at += 1;
    if (this.text[this.at] === '\n') this.at += 1;
    this.line += 1;
    return { line, fields };
  }

  private field(): string {
    return this.text[this.at] === '"' ? this.quoted() : this.plain();
  }

  private plain(): string {
    const pattern = /[^,\r\n]*/y;
    pattern.lastIndex = this.at;
    const [value = ''] = pattern.exec(this.text) ?? [];
    if (value.includes('"')) throw new CsvFault(this.line, 'a quotation mark is inside an unquoted field');
    this.at += value.length;
    return value;
  }

  private quoted(): string {
    const begunAt = this.line;
    const pieces: string[] = [];
    for (;;) {
      const end = this.text.indexOf('"', this.at + 1);
      if (end < 0) throw new CsvFault(begunAt, 'a quotation mark is opened and never closed');
      const piece = this.text.slice(this.at + 1, end);
      this.line += piece.split('\n').length - 1;
      pieces.push(piece);
      this.at = end + 1;
      // A doubled quotation mark is a literal one.
      if (this.text[this.at] !== '"') break;
    }
    if (this.at < this.text.length && !/[,\r\n]/.test(this.text[this.at] ?? ''))
      throw new CsvFault(this.line, 'there is text between the end of a quoted field and the next comma');
    return pieces.join('"');
  }
}
