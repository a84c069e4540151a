import { createHash } from 'node:crypto';

/** Markup that may be sent as it is. */
export class Html {
  constructor(readonly markup: string) {}
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** What is put into markup: text, which is escaped; markup; or several of these behind each other. */
export type HtmlValue = string | Html | readonly (string | Html)[];

/** The one way to make markup: whatever is put in is text and escaped, unless it is markup itself. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(markupOf)));
}

function markupOf(value: HtmlValue): string {
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => entities[character] ?? '');
  return value instanceof Html ? value.markup : value.map(markupOf).join('');
}

/** A style that stands in the page itself, and what a content security policy calls it. */
export interface InlineStyle {
  /** `<style>…</style>`: to be put in whole, since every character between the tags is part of the digest. */
  readonly element: Html;
  /** For `style-src` (CSP Level 3, section 2.3.1). */
  readonly source: string;
}

/** @param css of our own; it must not hold `</style` */
export function inlineStyle(css: string): InlineStyle {
  const digest = createHash('sha256').update(css).digest('base64');
  return { element: new Html(`<style>${css}</style>`), source: `'sha256-${digest}'` };
}
