/**
 * An issuer and what binds it: the value of a CAA record's `issue` and `issuewild` (RFC 8659, section 4.2), and of a
 * `_validation-persist` record (draft-ietf-acme-dns-persist).
 */
export interface IssueValue {
  /** Lower case; empty: no CA may issue. */
  readonly issuer: string;
  /** By name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const domain = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const parameterName = /^[a-z0-9]+(?:-+[a-z0-9]+)*$/;
/** %x21-3A / %x3C-7E without quote and backslash, which presentation formats escape differently. */
const parameterValue = /^[!#-:<-[\]-~]*$/;

/**
 * Undefined when the text does not match the grammar or repeats a parameter: parsers disagree on which one counts.
 */
export function readIssueValue(text: string): IssueValue | undefined {
  const [issuerText = '', ...rest] = text.split(';').map((part) => part.replace(/^[ \t]+|[ \t]+$/g, ''));
  const issuer = issuerText.toLowerCase();
  if (issuer !== '' && (!domain.test(issuer) || issuer.length > 253)) return undefined;
  // The grammar allows a trailing semicolon only directly after the issuer.
  if (rest.length === 1 && rest[0] === '') rest.pop();
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const equals = parameter.indexOf('=');
    if (equals === -1) return undefined;
    const name = parameter.slice(0, equals).toLowerCase();
    const value = parameter.slice(equals + 1);
    if (!parameterName.test(name) || !parameterValue.test(value) || parameters.has(name)) return undefined;
    parameters.set(name, value);
  }
  return { issuer, parameters };
}

/** The canonical spelling. */
export function writeIssueValue({ issuer, parameters }: IssueValue): string {
  return [issuer, ...[...parameters].map(([name, value]) => `${name}=${value}`)].join('; ').trim();
}
