/** The value of an `issue` or `issuewild` property: RFC 8659, section 4.2. */
export interface IssuerGrant {
  /** Lower case; empty: no CA. */
  readonly issuerDomain: string;
  readonly parameters: readonly (readonly [tag: string, value: string])[];
}

const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
const parameterTag = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
/** Printable ASCII without space and semicolon. */
const parameterValue = /^[\x21-\x3a\x3c-\x7e]*$/;

/** @returns null when it violates the grammar: such a property allows no CA (section 4.2) */
export function readIssuerGrant(value: string): IssuerGrant | null {
  const [domain = '', ...rest] = value.split(';').map(trimmed);
  if (domain !== '' && !domain.split('.').every((part) => label.test(part))) return null;
  // `ca.example;` has an empty list of parameters.
  const texts = rest.length === 1 && rest[0] === '' ? [] : rest;
  const parameters: [string, string][] = [];
  for (const text of texts) {
    const equals = text.indexOf('=');
    const tag = trimmed(text.slice(0, equals));
    const content = trimmed(text.slice(equals + 1));
    if (equals < 0 || !parameterTag.test(tag) || !parameterValue.test(content)) return null;
    parameters.push([tag.toLowerCase(), content]);
  }
  return { issuerDomain: domain.toLowerCase(), parameters };
}

/** WSP is only space and tab. No regular expression: it would take quadratic time for a long run of spaces. */
function trimmed(text: string): string {
  const isSpace = (at: number) => text[at] === ' ' || text[at] === '\t';
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(start)) start += 1;
  while (end > start && isSpace(end - 1)) end -= 1;
  return text.slice(start, end);
}
