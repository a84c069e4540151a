/** Bytes of a decoded key that are examined; enough for the start of every structure, few enough to cost nothing. */
const examinedBytes = 96;

/** Headers of PEM in every kind, also mangled or percent-encoded; PGP, PuTTY and age. Each is linear in the text. */
const patterns = [
  /PRIVATE(?:%20|[^A-Za-z0-9]){0,4}KEY/i,
  /PuTTY-User-Key-File|Private-Lines:/i,
  /AGE-SECRET-KEY-1/i,
];

/** The same with the dashes of PEM: a person who writes about private keys does not write these. */
const headers = [/BEGIN[ A-Z0-9]{0,30} PRIVATE KEY/, /PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1[A-Z0-9]{10}/];

/** Base64 of the magic that an OpenSSH private key starts with, `openssh-key-v1`. */
const openSshMagic = 'b3BlbnNzaC1rZXktdjE';

/**
 * Where base64 of a private key may begin within a text: of DER (a SEQUENCE), of PEM, of OpenSSH. The bound keeps the
 * work linear in the text.
 */
const keyStarts =
  /(?<![A-Za-z0-9+])(?=((?:M[A-I]|LS0tLS1CRUdJTi|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/_-]{20,60}))/g;

/**
 * Whether somebody pasted a private key where another thing belongs. It errs on the side of yes; the text is examined and
 * nothing of it is kept. Also finds base64 of the DER alone, cut off or broken into lines, and base64 of a PEM file.
 */
export function containsPrivateKey(text: string): boolean {
  // In PEM, the labels say what it is: words beside them are a comment, such as the name private-key.example.com.
  const isPem = text.includes('-----BEGIN ');
  if ((!isPem && patterns.some((pattern) => pattern.test(text))) || holdsPrivateKey(text)) return true;
  return isPrivateBase64(text.slice(0, 4 * examinedBytes).replace(/\\[nr]|[\s"']/g, ''));
}

/**
 * Whether a private key is in the text, wherever it begins. Unlike `containsPrivateKey` it lets a text pass that only
 * speaks of private keys, so that a request may be refused for it.
 */
export function holdsPrivateKey(text: string): boolean {
  if (text.length < minKeyLength) return false;
  if (headers.some((header) => header.test(text)) || isPrivateJwk(text)) return true;
  let left = maxStarts;
  for (const [, start = ''] of text.matchAll(keyStarts)) {
    if (isPrivateBase64(start)) return true;
    if (--left === 0) break;
  }
  return false;
}

/** Max places that are decoded, about 10 µs each. A key behind more of them was not pasted by mistake. */
const maxStarts = 1_000;

/** Characters. A shorter beginning of a key reveals nothing of it. */
const minKeyLength = 24;

/** @param start base64 or base64url, as it begins; a tail that is neither is ignored */
function isPrivateBase64(start: string): boolean {
  if (start.startsWith(openSshMagic)) return true;
  if (!/^[A-Za-z0-9+/_-]{8,}={0,2}/.test(start)) return false;
  const bytes = Buffer.from(start, 'base64');
  // Not `patterns`: a request for private.keycloak.example.com has them too.
  return looksLikePrivateKey(bytes) || headers.some((header) => header.test(bytes.toString('latin1')));
}

/** RFC 7517: a JSON Web Key with its private member. */
function isPrivateJwk(text: string): boolean {
  return text.includes('"kty"') && /"[dk]"\s{0,16}:/.test(text);
}

/**
 * The starts of PKCS #8 and PKCS #1 (a version, then an algorithm or the modulus), SEC 1 (a version, then the key), encrypted
 * PKCS #8 and PKCS #12. A certificate or a request starts with two SEQUENCEs, the second of which holds no password scheme.
 */
function looksLikePrivateKey(bytes: Buffer): boolean {
  const outer = contentOf(bytes, 0x30);
  if (outer === undefined) return false;
  const [first, version] = [outer[0], outer[2]];
  if (first === 0x02 && outer[1] === 1 && version !== undefined) {
    const next = outer[3];
    // INTEGER: PKCS #1 or a traditional DSA key; OCTET STRING: SEC 1; SEQUENCE: PKCS #8 or, as version 3, PKCS #12.
    if (next === 0x02 || next === 0x04) return version <= 1;
    return next === 0x30 && (version <= 1 || version === 3) && startsWithIdentifier(outer.subarray(3));
  }
  const algorithm = contentOf(outer, 0x30);
  return (
    algorithm !== undefined &&
    passwordSchemes.some((scheme) => algorithm.subarray(0, scheme.length).equals(scheme))
  );
}

/**
 * Whether a SEQUENCE starts with an OBJECT IDENTIFIER, or is cut off before it: that of a private key does. After its
 * version, the inner part of a request has a Name, which starts with a SET or is empty (RFC 2986, section 4.1).
 */
function startsWithIdentifier(sequence: Buffer): boolean {
  const first = contentOf(sequence, 0x30)?.[0];
  return first === undefined || first === 0x06;
}

/** OBJECT IDENTIFIERs up to their last arc: PKCS #5 (1.2.840.113549.1.5) and PKCS #12 (1.2.840.113549.1.12.1). */
const passwordSchemes = ['06092a864886f70d0105', '060a2a864886f70d010c01'].map((hex) =>
  Buffer.from(hex, 'hex'),
);

/** What follows the header of an element with this tag, as far as it is there; lenient about lengths. */
function contentOf(bytes: Buffer, tag: number): Buffer | undefined {
  const [first, length] = bytes;
  if (first !== tag || length === undefined) return undefined;
  return bytes.subarray(length < 0x80 ? 2 : 2 + (length & 0x7f));
}
