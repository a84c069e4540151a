import { KnownChains, readLeafText } from '@certwright/ct';
import { Pieces } from '@certwright/outbound';
import { CompactJson } from './compact-json';
import { fetchedEntry } from './fetched-entry';
import { JsonEntry } from './json-entry';
import type { FetchedEntry } from './log-api';
import { LogUnavailable } from './log-faults';
import { EnoughEntries, EntryIsLong, HeldEntries, type StreamedBounds } from './streamed-entries';

const notJson = 'The log returned something that is not JSON.';

/** How nearly all logs write an entry: the parts around the base64. */
const pieces = {
  leafInput: Buffer.from('{"leaf_input":"'),
  extraData: Buffer.from(',"extra_data":"'),
  end: Buffer.from('}'),
} as const;

/** Max bytes that are buffered of an incomplete entry; a longer one is parsed as it arrives. */
const maxCarried = 131_072;

/** Bytes between two entries without data: white space, and members that RFC 6962 does not define. */
const maxBeside = 65_536;

const code = (character: string) => character.charCodeAt(0);
const [quote, colon, comma, backslash] = [code('"'), code(':'), code(','), code('\\')];
const [open, close, openList, closeList] = [code('{'), code('}'), code('['), code(']')];
const whiteSpace: ReadonlySet<number> = new Set([' ', '\t', '\r', '\n'].map(code));

/** What may come next in an object or the list of entries. */
type Expecting =
  | 'response'
  | 'nameOrEnd'
  | 'name'
  | 'inName'
  | 'colon'
  | 'value'
  | 'inText'
  | 'inSkipped'
  | 'commaOrEnd'
  | 'entryOrEnd'
  | 'entry'
  | 'entryCommaOrEnd'
  | 'nothing';

export interface JsonEntriesOptions extends StreamedBounds {
  /** Number of requested entries: further entries are not read. */
  readonly max: number;
  /** From previous responses. */
  readonly chains: KnownChains;
}

/**
 * The entries of a `get-entries` response (RFC 6962, section 4.6) as its bytes arrive. Besides the collected entries, one entry is in
 * memory; of an entry that is too long to be indexed, only the hash and the prefix. An entry in the usual layout is read in
 * place; any other one, and a long incomplete one, byte by byte.
 */
export class JsonEntries {
  private readonly held = new HeldEntries();
  private expecting: Expecting = 'response';
  /** An incomplete entry. */
  private readonly carried = new Pieces();
  private lookedAtBytes = 0;
  private entry: JsonEntry | null = null;
  private name = '';
  private isEscaped = false;
  private beside = 0;
  private depth = 0;
  private isInSkippedText = false;

  constructor(private readonly options: JsonEntriesOptions) {}

  get entries(): readonly FetchedEntry[] {
    return this.held.entries;
  }

  /** Bytes of memory of the entries. */
  get bytes(): number {
    return this.held.bytes;
  }

  /** Bytes of memory of the incomplete entry. */
  get bytesUnderWay(): number {
    return this.carried.length + (this.entry?.bytes ?? 0);
  }

  /** @throws EnoughEntries; EntryIsLong; LogUnavailable for an invalid response */
  take(piece: Buffer): void {
    if (this.carried.length === 0) return this.read(piece, true);
    this.carried.push(piece);
    // However small the chunks are, buffered bytes are scanned only a few times.
    if (this.carried.length >= 2 * this.lookedAtBytes) this.read(this.carried.take(), true);
  }

  /** End of the response. @throws as `take` */
  end(): void {
    if (this.carried.length > 0) this.read(this.carried.take(), false);
    if (this.expecting !== 'nothing') throw new LogUnavailable(notJson);
    if (this.entries.length === 0) throw new LogUnavailable('The log returned no entries for get-entries.');
  }

  /** @param goesOn an incomplete entry may be buffered */
  private read(bytes: Buffer, goesOn: boolean): void {
    for (let at = 0; at < bytes.length;) {
      if (goesOn && (this.expecting === 'entry' || this.expecting === 'entryOrEnd') && bytes[at] === open) {
        const next = this.wholeEntry(bytes, at);
        if (next === null) return;
        if (next > at) {
          at = next;
          continue;
        }
      }
      at = this.step(bytes, at);
    }
  }

  /** An entry in the usual layout. @returns its end; `at`: another layout; null: it is buffered until more arrives */
  private wholeEntry(bytes: Buffer, at: number): number | null {
    const json = new CompactJson(bytes, at);
    json.expect(pieces.leafInput);
    const leafInput = json.textBeforeQuote();
    json.expect(pieces.extraData);
    const extraData = json.textBeforeQuote();
    json.expect(pieces.end);
    if (json.failed) {
      const { maxEntry } = this.options;
      if (!json.isCut || bytes.length - at > Math.min(maxEntry, maxCarried)) return at;
      // A copy, so that the rest does not keep the whole chunk in memory.
      this.carried.push(Buffer.from(bytes.subarray(at)));
      this.lookedAtBytes = bytes.length - at;
      return null;
    }
    if (json.at - at > this.options.maxEntry) throw new EntryIsLong();
    const entry = readLeafText(bytes, leafInput, extraData, this.options.chains);
    if (entry === null) return at;
    this.expecting = 'entryCommaOrEnd';
    this.add(fetchedEntry(entry));
    return json.at;
  }

  /** @returns position after what was read */
  private step(bytes: Buffer, at: number): number {
    if (this.expecting === 'inText') return this.inText(bytes, at);
    const byte = bytes[at] ?? 0;
    this.beside += 1;
    if (this.beside > maxBeside)
      throw new LogUnavailable('The log returned far more than was requested by get-entries.');
    if (this.expecting === 'inName') return this.inName(byte, at);
    if (this.expecting === 'inSkipped') return this.inSkipped(byte, at);
    if (!whiteSpace.has(byte)) this.token(byte);
    return at + 1;
  }

  private token(byte: number): void {
    switch (this.expecting) {
      case 'response':
        return this.expect(byte, [[open, 'nameOrEnd']]);
      case 'nameOrEnd':
      case 'name':
        if (byte === close && this.expecting === 'nameOrEnd') return this.objectEnds();
        this.name = '';
        return this.expect(byte, [[quote, 'inName']]);
      case 'colon':
        return this.expect(byte, [[colon, 'value']]);
      case 'value':
        return this.valueBegins(byte);
      case 'commaOrEnd':
        if (byte === close) return this.objectEnds();
        return this.expect(byte, [[comma, 'name']]);
      case 'entry':
      case 'entryOrEnd':
        if (byte === closeList && this.expecting === 'entryOrEnd')
          return void (this.expecting = 'commaOrEnd');
        this.entry = new JsonEntry(this.options.maxEntry);
        return this.expect(byte, [[open, 'nameOrEnd']]);
      case 'entryCommaOrEnd':
        return this.expect(byte, [
          [comma, 'entry'],
          [closeList, 'commaOrEnd'],
        ]);
      default:
        throw new LogUnavailable(notJson);
    }
  }

  private expect(byte: number, tokens: readonly (readonly [number, Expecting])[]): void {
    const token = tokens.find(([wanted]) => wanted === byte);
    if (token === undefined) throw new LogUnavailable(notJson);
    [, this.expecting] = token;
  }

  private valueBegins(byte: number): void {
    const { entry, name } = this;
    const isText = byte === quote;
    if (entry === null && name === 'entries' && byte === openList)
      return void (this.expecting = 'entryOrEnd');
    if (entry !== null && isText && entry.begin(name)) return void (this.expecting = 'inText');
    this.expecting = 'inSkipped';
    this.depth = byte === open || byte === openList ? 1 : 0;
    this.isInSkippedText = isText;
    this.isEscaped = false;
  }

  private objectEnds(): void {
    if (this.entry === null) return void (this.expecting = 'nothing');
    const fetched = this.entry.end();
    this.entry = null;
    this.expecting = 'entryCommaOrEnd';
    this.add(fetched);
  }

  private add(fetched: FetchedEntry): void {
    this.beside = 0;
    this.held.add(fetched, this.options.max, this.options.maxHeld);
  }

  /** Base64 up to the closing quote, or the end of the chunk. */
  private inText(bytes: Buffer, start: number): number {
    let at = this.isEscaped ? start + 1 : start;
    this.isEscaped = false;
    const end = bytes.indexOf(quote, at);
    let escape = bytes.indexOf(backslash, at);
    let last = end;
    // A quote after a backslash does not end the string.
    while (escape >= 0 && (last < 0 || escape < last)) {
      at = escape + 2;
      if (at > bytes.length) this.isEscaped = true;
      last = bytes.indexOf(quote, at);
      escape = bytes.indexOf(backslash, at);
    }
    const textEnd = last < 0 ? bytes.length : last;
    this.entry?.text(bytes.subarray(start, textEnd));
    if (last < 0) return bytes.length;
    this.entry?.textEnds();
    this.expecting = 'commaOrEnd';
    return last + 1;
  }

  private inName(byte: number, at: number): number {
    if (byte === quote) this.expecting = 'colon';
    else this.name += String.fromCharCode(byte);
    return at + 1;
  }

  /** A value that is not used. */
  private inSkipped(byte: number, at: number): number {
    if (this.isInSkippedText) {
      if (this.isEscaped) this.isEscaped = false;
      else if (byte === backslash) this.isEscaped = true;
      else if (byte === quote) {
        this.isInSkippedText = false;
        if (this.depth === 0) this.expecting = 'commaOrEnd';
      }
      return at + 1;
    }
    if (this.depth === 0) {
      // A number or literal ends at the next character of another kind.
      if (byte !== comma && byte !== close && !whiteSpace.has(byte)) return at + 1;
      this.expecting = 'commaOrEnd';
      return at;
    }
    if (byte === quote) this.isInSkippedText = true;
    else if (byte === open || byte === openList) this.depth += 1;
    else if (byte === close || byte === closeList) {
      this.depth -= 1;
      if (this.depth === 0) this.expecting = 'commaOrEnd';
    }
    return at + 1;
  }
}

/** The entries of a whole response. @param max number of requested entries @throws LogUnavailable when it is invalid */
export function readJsonEntries(
  body: Buffer,
  max: number,
  chains = new KnownChains(),
): readonly FetchedEntry[] {
  const response = new JsonEntries({ max, chains, maxHeld: Infinity, maxEntry: Infinity });
  try {
    response.take(body);
    response.end();
  } catch (error) {
    if (!(error instanceof EnoughEntries)) throw error;
  }
  return response.entries;
}

/** @throws LogUnavailable */
export function parseJson(body: Buffer): unknown {
  try {
    // JSON of a log is ASCII; as Latin-1 it takes one byte per character.
    return JSON.parse(body.toString('latin1'));
  } catch {
    throw new LogUnavailable(notJson);
  }
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
