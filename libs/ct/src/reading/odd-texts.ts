import { asciiLowerCase, forEachRun, forEachRunInBytes } from '@certwright/monitored-domains';
import { isName } from './dns-name-text';
import { readByteText } from './text';

/** Texts of a certificate that are kept as they are, and their characters; more are reduced to their runs of labels. */
const maxTexts = 100;
const maxCharacters = 16_384;

/** Max characters of one of them. */
const maxTextLength = 1_024;

/** The end of a run decides which names it is below; a name has 253 characters at most. */
const maxRunLength = 256;

/**
 * The texts of one certificate that may contain a name, or several, which its names lack. They are kept for monitors, which
 * find the runs of labels in them (`MonitoredDomainIndex`).
 */
export class OddTexts {
  private readonly texts = new Set<string>();
  private readonly runs = new Set<string>();
  private characters = 0;

  /** Printable or not, without NUL. */
  get list(): readonly string[] {
    return [...this.texts, ...this.runs];
  }

  /**
   * @param names that were read from the text
   * @param asciiName returns the A-labels of a text with U-labels; undefined: it is no name
   */
  add(raw: string, names: readonly string[], asciiName: (text: string) => string | undefined): void {
    const [name] = names;
    if (name === raw) return;
    const lower = asciiLowerCase(raw);
    if (name === lower) return;
    if (names.length === 1 && name !== undefined && isName(name) && isUnicodeName(lower)) return;
    const read = new Set(names.flatMap(runsOf));
    for (const form of formsOf(lower)) this.keep(withALabels(form, asciiName), read);
  }

  /** All runs in bytes whose structure is broken. */
  addBytes(bytes: Uint8Array, names: readonly string[]): void {
    const read = new Set(names);
    forEachRunInBytes(bytes, (text, start, end) => {
      const run = runOf(text, start, end);
      if (run !== undefined && !read.has(run)) this.runs.add(run);
    });
  }

  private keep(text: string, read: ReadonlySet<string>): void {
    const runs = runsOf(text).filter((run) => !read.has(run));
    if (runs.length === 0 || this.texts.has(text)) return;
    const characters = this.characters + text.length;
    if (text.length > maxTextLength || this.texts.size >= maxTexts || characters > maxCharacters) {
      for (const run of runs) this.runs.add(run);
      return;
    }
    this.characters = characters;
    this.texts.add(text);
  }
}

/** A text of U-labels and nothing else: the one name that was read from it has all of them. */
function isUnicodeName(text: string): boolean {
  return /[\u0080-\uffff]/.test(text) && /^[a-z0-9_*.\u0080-\uffff-]*$/.test(text);
}

/** The text; and the one that is meant if it has two or four bytes per character, or percent-encoded ones. */
function formsOf(text: string): Set<string> {
  const forms = new Set([text.replaceAll('\0', '\ufffd')]);
  const narrow = text.replaceAll('\0', '');
  if (2 * narrow.length <= text.length + 2 && narrow !== text) forms.add(narrow);
  if (/%[0-9a-f]{2}/.test(narrow)) forms.add(withoutPercentEncoding(narrow));
  return forms;
}

function withoutPercentEncoding(text: string): string {
  const decoded = text.replace(/(?:%[0-9a-f]{2})+/g, (encoded) => {
    const bytes = Buffer.from(encoded.replaceAll('%', ''), 'hex');
    return readByteText(bytes, 0, bytes.length);
  });
  return asciiLowerCase(decoded).replaceAll('\0', '\ufffd');
}

function withALabels(text: string, asciiName: (text: string) => string | undefined): string {
  if (!/[\u0080-\uffff]/.test(text)) return text;
  return text.replace(/[a-z0-9_*.\u0080-\uffff-]+/g, (part) =>
    part.includes('.') && /[\u0080-\uffff]/.test(part) ? (asciiName(part) ?? part) : part,
  );
}

/** @param text in lower case */
export function runsOf(text: string): string[] {
  const runs: string[] = [];
  forEachRun(text, (start, end) => {
    const run = runOf(text, start, end);
    if (run !== undefined) runs.push(run);
  });
  return runs;
}

/** Undefined for numbers and addresses: no top-level domain is numeric. */
function runOf(text: string, start: number, end: number): string | undefined {
  const run = text.slice(Math.max(start, end - maxRunLength), end);
  return /\.[0-9]+$/.test(run.slice(-maxLastLabel)) ? undefined : run;
}

/** A label with the dot before it. */
const maxLastLabel = 64;
