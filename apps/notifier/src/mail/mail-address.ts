/** RFC 5321 §4.5.3.1: 64 bytes of local part, 254 in total. */
const maxLocalPartLength = 64;
const maxAddressLength = 254;

/** RFC 5322 §3.2.3 dot-atom; without quoted strings, which are unused and which much software misreads. */
const dotAtom = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** A name of at least two labels; no address literal. */
const domain =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** Whether a text is exactly one mail address: no name, no list, no line end, no further SMTP syntax. */
export function isMailAddress(text: string): boolean {
  const at = text.lastIndexOf('@');
  const localPart = text.slice(0, Math.max(0, at));
  return (
    text.length <= maxAddressLength &&
    localPart.length <= maxLocalPartLength &&
    dotAtom.test(localPart) &&
    domain.test(text.slice(at + 1))
  );
}

export interface Sender {
  /** Empty: the address alone is shown. */
  readonly name: string;
  readonly address: string;
}

/** Reads `Name <address>` or an address. @returns null when it is neither */
export function senderOf(text: string): Sender | null {
  const bracketed = /^([^<>"\p{Cc}]{0,80}?)\s*<([^<>]+)>$/u.exec(text);
  const address = bracketed?.[2] ?? text;
  return isMailAddress(address) ? { name: bracketed?.[1] ?? '', address } : null;
}
