import { createHash } from 'node:crypto';

/** Markup that needs no escaping. */
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

/** A value in a template: text, which is escaped; markup; or a list of these. */
export type HtmlValue = string | Html | readonly (string | Html)[];

/** The only way to build markup: every value is escaped, unless it is markup itself. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(markupOf)));
}

function markupOf(value: HtmlValue): string {
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => entities[character] ?? '');
  return value instanceof Html ? value.markup : value.map(markupOf).join('');
}

/** An inline style sheet, with its source for the content security policy. */
export interface InlineStyle {
  /** `<style>…</style>`. Insert it unchanged: the digest covers every character between the tags. */
  readonly element: Html;
  /** For `style-src` (CSP Level 3, section 2.3.1). */
  readonly source: string;
}

/** @param css trusted; it must not contain `</style` */
export function inlineStyle(css: string): InlineStyle {
  const digest = createHash('sha256').update(css).digest('base64');
  return { element: new Html(`<style>${css}</style>`), source: `'sha256-${digest}'` };
}

/**
 * Content security policy of a page that loads and runs nothing, and to which only this style applies.
 *
 * @param forms where the page may send forms
 */
export function pagePolicy({ source }: InlineStyle, forms: 'none' | 'self' = 'none'): string {
  // The last three do not fall back to default-src.
  return `default-src 'none'; style-src ${source}; base-uri 'none'; form-action '${forms}'; frame-ancestors 'none'`;
}
