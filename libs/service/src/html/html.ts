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
