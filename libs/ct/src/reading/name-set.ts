import { asciiName, beforeQuery, isName, isPlainName, readNameText, withoutControls } from './dns-name-text';
import { oddName } from './odd-name';
import { OddTexts } from './odd-texts';
import { isOctetString, isWide, readEnds, readText } from './text';
import type { DerSpan } from './der-cursor';

/**
 * Bytes at each end of a text in which names are searched. A name has 253 at most; a URL around it more, and some
 * texts contain several, separated by NUL.
 */
const maxBytesOfEnd = 2048;

/** Number of names from which a lookup by hash is worthwhile. */
const manyNames = 16;

/**
 * Max Unicode names per certificate: each takes as long as twenty others, and they are forbidden (RFC 5280, section 7.2).
 * With the limit, 16 MiB of them take no more time than other bytes.
 */
const maxUnicodeNames = 1000;

/** IA5String: the type of a GeneralName, whose own tag does not contain it. */
const ia5String = 0x16;

/** The names of one certificate, without duplicates, in their order. */
export class NameSet {
  readonly names: string[] = [];
  /** Texts that cannot be names. */
  dropped = 0;
  /** Texts with names that `names` lacks. */
  readonly odd = new OddTexts();
  /** Names of the current text. */
  private read: string[] = [];
  private lookup: Set<string> | undefined;
  private unicodeNames = 0;

  /** An IA5String, unless the CA violates that. */
  addDnsName(bytes: Buffer, start: number, end: number): void {
    if (isPlainName(bytes, start, end)) return this.keep(bytes.toString('latin1', start, end));
    this.addSpan(bytes, { tag: ia5String, start, end });
  }

  addCommonName(bytes: Buffer, span: DerSpan): void {
    const { tag, start, end } = span;
    if (isOctetString(tag)) this.addDnsName(bytes, start, end);
    else this.addSpan(bytes, span);
  }

  /** A text in a place for something else than names, or with a tag that has no text. */
  addOddText(bytes: Buffer, start: number, end: number): void {
    this.odd.add(readText(bytes, { tag: ia5String, start, end }), [], this.asciiLabel);
  }

  private addSpan(bytes: Buffer, span: Pick<DerSpan, 'tag' | 'start' | 'end'>): void {
    const { tag, start, end } = span;
    this.read = [];
    this.addText(readEnds(bytes, span, maxBytesOfEnd));
    this.odd.add(readText(bytes, span), this.read, this.asciiLabel);
    // Characters of one byte under a tag of wider ones.
    if (isWide(tag))
      this.odd.add(readText(bytes, { tag: ia5String, start, end }), this.read, this.asciiLabel);
  }

  /**
   * A NUL has been used to make the CA and the client see different names (CVE-2009-2408): both are
   * names. With a NUL after every character, the text has two bytes per character.
   */
  private addText(text: string): void {
    if (text.includes('\0')) this.addParts(text);
    else if (!this.addPart(text)) this.dropped++;
  }

  private addParts(text: string): void {
    const parts = text.split('\0').filter((part) => part !== '');
    const isWide = parts.length > 1 && parts.every((part) => part.length === 1);
    const texts = isWide ? [parts.join('')] : parts;
    if (texts.length === 0) this.dropped++;
    for (const each of texts) if (!this.addPart(each)) this.dropped++;
  }

  /** More of a text than the host of a URL may be a name, too: `a/b.example.com`. */
  private addPart(text: string): boolean {
    const { host, authority, whole } = readNameText(text);
    let isRead = this.keepRead(this.nameIn(host));
    if (authority !== host) isRead = this.keepRead(oddName(authority, this.asciiLabel)) || isRead;
    if (whole !== authority) isRead = this.keepRead(oddName(whole, this.asciiLabel)) || isRead;
    return isRead;
  }

  private nameIn(host: string): string | undefined {
    if (isName(host)) return host;
    const name = isUnicode(host) ? this.asciiLabel(host) : undefined;
    return name ?? oddName(host, this.asciiLabel) ?? beforeQuery(host) ?? this.visibleName(host);
  }

  /** Control characters are invisible: a name that is invalid with them counts as the one that it looks like. */
  private visibleName(host: string): string | undefined {
    const visible = withoutControls(host);
    return visible !== host && visible.includes('.') ? this.nameIn(visible) : undefined;
  }

  private readonly asciiLabel = (text: string): string | undefined => {
    if (this.unicodeNames >= maxUnicodeNames) return undefined;
    this.unicodeNames++;
    return asciiName(text);
  };

  private keepRead(name: string | undefined): boolean {
    if (name === undefined) return false;
    this.read.push(name);
    this.keep(name);
    return true;
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
