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

/** The one way to make markup: whatever is put in is text and escaped, unless it is markup itself. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  const escaped = values.map((value) =>
    value instanceof Html
      ? value.markup
      : value.replace(/[&<>"']/g, (character) => entities[character] ?? ''),
  );
  return new Html(String.raw({ raw: parts }, ...escaped));
}
