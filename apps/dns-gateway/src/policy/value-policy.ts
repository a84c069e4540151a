import type { CaaIssuer, RecordRules } from './record-rules';
import { digestLength } from './record-rules';
import { type IssueValue, readIssueValue } from './issue-value';
import { firstLabel, isBelow, underscoredLabels } from './record-name';
import type { RecordValue } from './record-value';

/** Labels of issuance itself: RFC 8555, section 8.4, and draft-ietf-acme-dns-persist. */
export const challengeLabel = '_acme-challenge';
const persistLabel = '_validation-persist';

export interface ValueRefusal {
  readonly field: 'record.fqdn' | 'record.value';
  /** A sentence. */
  readonly message: string;
}

/** RFC 8657, section 4, and methods registered since. */
const validationMethods = ['dns-01', 'http-01', 'tls-alpn-01', 'dns-account-01', 'dns-persist-01'];

/** The reason why the value is refused at this name, or null. @param name in normal form */
export function checkValue(name: string, value: RecordValue, rules: RecordRules): ValueRefusal | null {
  const label = underscoredLabels(name).find((each) => isOthers(each, rules));
  if (label !== undefined) {
    return { field: 'record.fqdn', message: `Records at or below ${label} are not about certificates.` };
  }
  switch (value.type) {
    case 'CNAME':
    case 'NS':
      return checkTarget(value.text, rules);
    case 'CAA':
      return checkCaa(value.issue, rules);
    case 'TXT':
      return checkText(name, value.text, rules);
  }
}

function isOthers(label: string, rules: RecordRules): boolean {
  if (label === challengeLabel || label === persistLabel) return false;
  if (rules.underscoredNames.has(label)) return true;
  if (rules.othersLabels.some((pattern) => matches(label.slice(1), pattern))) return true;
  return rules.ownLabels !== null && !rules.ownLabels.includes(label);
}

function matches(text: string, pattern: string): boolean {
  const [head = '', ...pieces] = pattern.split('*');
  const tail = pieces.pop();
  if (tail === undefined) return text === head;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let rest = text.slice(head.length, text.length - tail.length);
  return pieces.every((piece) => {
    const at = rest.indexOf(piece);
    rest = rest.slice(at + piece.length);
    return at !== -1;
  });
}

function checkTarget(target: string, rules: RecordRules): ValueRefusal | null {
  if (rules.approvalZones.some((zone) => isBelow(target, zone))) return null;
  return refused("The target is not below one of the operator's approval zones.");
}

function checkCaa({ issuer, parameters }: IssueValue, rules: RecordRules): ValueRefusal | null {
  const fault = checkIssuer(issuer, parameters.get('accounturi'), rules.caaIssuers);
  if (fault !== null) return fault;
  for (const [parameter, text] of parameters) {
    if (parameter === 'accounturi') continue;
    if (parameter !== 'validationmethods')
      return refused('The parameters of a CAA record are accounturi and validationmethods.');
    // A method unknown to all CAs would block every issuance.
    if (!text.split(',').every((method) => validationMethods.includes(method)))
      return refused(`The validationmethods of a CAA record are some of ${validationMethods.join(', ')}.`);
  }
  return null;
}

function checkIssuer(
  issuer: string,
  accountUri: string | undefined,
  issuers: readonly CaaIssuer[],
): ValueRefusal | null {
  if (issuer === '') return refused('A record without an issuer would stop all issuance.');
  const known = issuers.find((each) => each.issuer === issuer);
  if (known === undefined) return refused('The issuer is none of those that the operator orders from.');
  if (accountUri === undefined) {
    // Without an account, the record would authorize every customer of that CA, even beside a record with an
    // account.
    return known.accountUris.length === 0
      ? null
      : refused("The accounturi of the operator's account is missing.");
  }
  return known.accountUris.includes(accountUri)
    ? null
    : refused("The accounturi is not the operator's account.");
}

function checkText(name: string, text: string, rules: RecordRules): ValueRefusal | null {
  const labels = underscoredLabels(name);
  if (labels.includes(persistLabel)) return checkPersistence(name, text, rules);
  if (labels.includes(challengeLabel)) {
    return isBase64url(text, digestLength)
      ? null
      : refused(`The text at ${challengeLabel} is a digest of ${digestLength} base64url characters.`);
  }
  if (labels.length === 0) return checkBareText(text, rules);
  if (!firstLabel(name).startsWith('_')) {
    return { field: 'record.fqdn', message: `Records below ${labels[0]} are not about certificates.` };
  }
  return isToken(text, rules)
    ? null
    : refused('The text at this name is not a token of the configured shape.');
}

function checkBareText(text: string, rules: RecordRules): ValueRefusal | null {
  if (rules.txtShapes.bareLengths.some((length) => isBase64url(text, length))) return null;
  return refused('At a name without an underscore only a token of the configured length is allowed.');
}

function checkPersistence(name: string, text: string, rules: RecordRules): ValueRefusal | null {
  if (firstLabel(name) !== persistLabel || underscoredLabels(name).length > 1) {
    return { field: 'record.fqdn', message: `${persistLabel} is the first label, before a host's name.` };
  }
  const read = readIssueValue(text);
  const accountUri = read?.parameters.get('accounturi');
  if (read === undefined || accountUri === undefined) {
    return refused(
      `The text at ${persistLabel} is an issuer with its accounturi: "ca.example; accounturi=…".`,
    );
  }
  const fault = checkIssuer(read.issuer, accountUri, rules.caaIssuers);
  if (fault !== null) return fault;
  for (const [parameter, value] of read.parameters) {
    if (parameter === 'accounturi') continue;
    const fits =
      (parameter === 'policy' && value.toLowerCase() === 'wildcard') ||
      // Seconds since the epoch; ten digits last until the year 2286.
      (parameter === 'persistuntil' && /^[1-9]\d{0,9}$/.test(value));
    if (!fits) return refused('The further parameters are policy=wildcard and persistUntil=<unix seconds>.');
  }
  return null;
}

/** No `=` except padding: other services use `name=value` for proofs of ownership. */
function isToken(text: string, { txtShapes }: RecordRules): boolean {
  const { min, max } = txtShapes.tokenLength;
  return ['', ...txtShapes.tokenPrefixes].some((prefix) => {
    const token = text.slice(prefix.length);
    return (
      text.startsWith(prefix) &&
      min <= token.length &&
      token.length <= max &&
      /^[A-Za-z0-9_-]+={0,2}$/.test(token)
    );
  });
}

function isBase64url(text: string, length: number): boolean {
  return text.length === length && /^[A-Za-z0-9_-]*$/.test(text);
}

function refused(message: string): ValueRefusal {
  return { field: 'record.value', message };
}
