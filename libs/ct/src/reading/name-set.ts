import { asciiName, hostnamePart, isName, isPlainName } from './dns-name-text';
import { isOctetString, readOctetText, readText } from './text';
import type { DerSpan } from './der-cursor';

/**
 * Octets of a text that may hold a name. A name has 253 at most; a URL around it more, and some hold several,
 * parted by NUL.
 */
const longestText = 4096;

/** With so many names it pays to look them up by hash. */
const manyNames = 16;

/**
 * A name in Unicode takes as long as twenty others, and none may be there (RFC 5280, section 7.2): so many
 * are read of one certificate, so that 16 MiB of them cost no more time than other octets.
 */
const mostUnicodeNames = 1000;

/** The names of one certificate, each once, in the order in which they come. */
export class NameSet {
  readonly names: string[] = [];
  /** Texts that cannot be names. */
  dropped = 0;
  private lookup: Set<string> | undefined;
  private unicodeNames = 0;

  /** An IA5String, as far as CAs keep to it. */
  addDnsName(bytes: Buffer, start: number, end: number): void {
    if (isPlainName(bytes, start, end)) return this.keep(bytes.toString('latin1', start, end));
    if (end - start > longestText) this.dropped++;
    else this.addText(readOctetText(bytes, start, end));
  }

  addCommonName(bytes: Buffer, span: DerSpan): void {
    const { tag, start, end } = span;
    if (isOctetString(tag)) this.addDnsName(bytes, start, end);
    else if (end - start > longestText) this.dropped++;
    else this.addText(readText(bytes, span));
  }

  /**
   * A NUL has been used to show one name to the CA and another to the visitor (CVE-2009-2408): both are
   * names.
   */
  private addText(text: string): void {
    const parts = text.split('\0').filter((part) => part !== '');
    if (parts.length === 0) this.dropped++;
    for (const part of parts) {
      const name = this.nameIn(part);
      if (name !== undefined) this.keep(name);
      else this.dropped++;
    }
  }

  private nameIn(text: string): string | undefined {
    const hostname = hostnamePart(text);
    if (isName(hostname)) return hostname;
    return this.unicodeNames < mostUnicodeNames && isUnicode(hostname)
      ? this.unicodeName(hostname)
      : undefined;
  }

  private unicodeName(hostname: string): string | undefined {
    this.unicodeNames++;
    return asciiName(hostname);
  }

  private keep(name: string): void {
    const { names } = this;
    if (names.length < manyNames) {
      if (!names.includes(name)) names.push(name);
      return;
    }
    this.lookup ??= new Set(names);
    if (this.lookup.has(name)) return;
    this.lookup.add(name);
    names.push(name);
  }
}

function isUnicode(text: string): boolean {
  return /[^\0-\x7f]/.test(text);
}
