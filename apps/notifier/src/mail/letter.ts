/** A text from another party: shown as data, never as part of our sentence. */
export interface Quoted {
  readonly quoted: string;
}

export type Part = string | Quoted;

export type Block =
  | { readonly kind: 'paragraph'; readonly parts: readonly Part[] }
  | { readonly kind: 'list'; readonly items: readonly (readonly Part[])[] }
  | { readonly kind: 'link'; readonly label: string; readonly url: string }
  | Table;

/** Every row has one cell per column. */
export interface Table {
  readonly kind: 'table';
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Part[])[];
}

export interface Column {
  readonly heading: string;
  /** Numbers are right-aligned. */
  readonly align: 'start' | 'end';
}

/** The content of a mail, written once; text and HTML are two renderings of it. */
export interface Letter {
  readonly subject: readonly Part[];
  readonly blocks: readonly Block[];
}

export const quote = (quoted: string): Quoted => ({ quoted });

export const paragraph = (...parts: readonly Part[]): Block => ({ kind: 'paragraph', parts });

export const itemList = (items: readonly (readonly Part[])[]): Block => ({ kind: 'list', items });

/** Items beyond this are counted, not shown. */
const maxItems = 20;

export function list(texts: readonly string[]): Block {
  const shown: readonly Part[][] = texts.slice(0, maxItems).map((text) => [quote(text)]);
  const more = texts.length - shown.length;
  return itemList(more > 0 ? [...shown, [`and ${more} more`]] : shown);
}

export const link = (label: string, url: string): Block => ({ kind: 'link', label, url });

/** The day in UTC, in ISO 8601 format. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

/** To the minute, with the time zone. */
export const instantOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
