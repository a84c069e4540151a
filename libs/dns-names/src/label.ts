import { decodePunycode } from './punycode';

/** RFC 1035, section 2.3.4: bytes of one label. */
const maxLabelLength = 63;

export type NormalLabel =
  { readonly ok: true; readonly label: string } | { readonly ok: false; readonly reason: string };

export interface LabelRules {
  /** Names in DNS may have underscores, names in certificates may not. Default: false. */
  readonly allowsUnderscores?: boolean;
}

/** One label in lower case; a U-label becomes its A-label (UTS #46, non-transitional). `reason` continues "the label …". */
export function normalLabel(input: string, { allowsUnderscores = false }: LabelRules = {}): NormalLabel {
  if (input === '') return refused('is empty');
  // Test for ASCII before case folding: U+212A folds to the letter k.
  const ascii = /^[\x21-\x7e]*$/.test(input);
  const label = ascii ? input.toLowerCase() : aLabelOf(input);
  if (label === undefined) return refused('is not a valid internationalized label');
  if (label.length > maxLabelLength) return refused(`is longer than ${maxLabelLength} bytes`);
  if (label.includes('_') && !allowsUnderscores)
    return refused('has an underscore, which no name in a certificate may have');
  if (!/^[a-z0-9_-]+$/.test(label)) return refused('may have letters, digits and hyphens only');
  if (label.startsWith('-') || label.endsWith('-')) return refused('starts or ends with a hyphen');
  // RFC 5890, section 2.3.1: hyphens at the third and fourth place are reserved, and only "xn--" is defined.
  if (label.slice(2, 4) === '--') {
    if (!label.startsWith('xn--'))
      return refused('has hyphens at its third and fourth place, which only "xn--" may');
    if (ascii && !isALabel(label)) return refused('is not a valid "xn--" label');
  }
  return { ok: true, label };
}

function refused(reason: string): NormalLabel {
  return { ok: false, reason };
}

/**
 * A U-label as typed: only case and composition are normalized. UTS #46 would also map compatibility characters
 * (circled letters, full-width letters) and drop ignorable ones, so that the certified name would differ from the one
 * shown.
 */
function aLabelOf(input: string): string | undefined {
  if (!/^[-A-Za-z0-9\u0080-\u{10ffff}]+$/u.test(input)) return undefined;
  const uLabel = input.normalize('NFC').toLowerCase().normalize('NFC');
  const aLabel = uts46ToAscii(uLabel);
  if (aLabel === undefined || !aLabel.startsWith('xn--') || aLabel.length > maxLabelLength) return undefined;
  return isALabel(aLabel) && decodePunycode(aLabel.slice(4)) === uLabel ? aLabel : undefined;
}

/** RFC 5891, section 5.3: an A-label is the encoding of its own U-label. */
function isALabel(label: string): boolean {
  const uLabel = decodePunycode(label.slice(4));
  if (uLabel === undefined || !/[^\0-\x7f]/.test(uLabel)) return false;
  if (/^-|-$|^..--/u.test(uLabel)) return false;
  return uts46ToAscii(uLabel) === label;
}

/**
 * The URL parser is the platform's UTS #46. It does not validate ASCII hosts, so it is used only for other labels;
 * the suffix prevents a label of digits from being read as an IPv4 address.
 */
function uts46ToAscii(uLabel: string): string | undefined {
  if (!URL.canParse(`http://${uLabel}.invalid/`)) return undefined;
  const { hostname } = new URL(`http://${uLabel}.invalid/`);
  const label = hostname.slice(0, -'.invalid'.length);
  return hostname.endsWith('.invalid') && !label.includes('.') ? label : undefined;
}
