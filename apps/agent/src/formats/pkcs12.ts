import { createCipheriv, createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { encodeInteger, encodeObjectIdentifier, encodeTlv } from '@certwright/pki';

export interface Pkcs12Content {
  readonly leaf: Uint8Array;
  readonly chain: readonly Uint8Array[];
  readonly pkcs8: Uint8Array;
  /** Java and OpenSSL encode other characters than printable ASCII differently. */
  readonly password: string;
}

/** Alias of the key in a Java key store. It stays the same when the certificate is renewed. */
export const pkcs12Alias = 'certwright';

/** The default of Java 17, which OpenSSL 1.1.0 and newer read too. The password is in a file on the same host. */
const iterations = 10_000;

/**
 * PKCS #12 (RFC 7292) with PBES2: PBKDF2 with HMAC-SHA-256, AES-256-CBC; integrity by HMAC-SHA-256.
 *
 * Salts and initialization vectors are derived from the content, keyed with the private key, so that a repeated step
 * writes the same bytes. They differ whenever anything that they protect differs.
 *
 * @throws RangeError when the password is empty, too long, or has other characters than printable ASCII
 */
export function encodePkcs12(content: Pkcs12Content): Uint8Array {
  const { leaf, chain, pkcs8, password } = content;
  if (!/^[\x20-\x7e]{1,1000}$/.test(password)) {
    throw new RangeError('the password of a PKCS#12 file has 1 to 1,000 characters of printable ASCII');
  }
  const everything = [leaf, ...chain, pkcs8, Buffer.from(password)];
  const secret = createHash('sha256')
    .update(sequence(...everything.map(octetString)))
    .digest();
  const derived = (label: string) => createHmac('sha256', secret).update(label).digest().subarray(0, 16);
  const encrypt = (label: string, clear: Uint8Array) =>
    encryptPbes2(clear, password, derived(`${label} salt`), derived(`${label} iv`));

  const keyAttributes = attributes(leaf);
  const certificates = sequence(
    certificateBag(leaf, keyAttributes),
    ...chain.map((der) => certificateBag(der)),
  );
  const sealedCertificates = encrypt('certificates', certificates);
  const sealedKey = encrypt('key', pkcs8);
  const keyBag = sequence(
    oid.shroudedKeyBag,
    explicit(sequence(sealedKey.algorithm, octetString(sealedKey.ciphertext))),
    keyAttributes,
  );
  const authenticatedSafe = sequence(
    sequence(
      oid.encryptedData,
      explicit(
        sequence(
          encodeInteger(0n),
          sequence(oid.data, sealedCertificates.algorithm, encodeTlv(0x80, sealedCertificates.ciphertext)),
        ),
      ),
    ),
    dataContent(sequence(keyBag)),
  );
  return sequence(
    encodeInteger(3n),
    dataContent(authenticatedSafe),
    macData(authenticatedSafe, password, derived('mac salt')),
  );
}

const sequence = (...parts: readonly Uint8Array[]) => encodeTlv(0x30, ...parts);
const octetString = (content: Uint8Array) => encodeTlv(0x04, content);
const explicit = (content: Uint8Array) => encodeTlv(0xa0, content);
const nothing = encodeTlv(0x05);
/** X.690, section 11.6: the elements of a SET OF are in ascending order. */
const setOf = (...parts: readonly Uint8Array[]) => encodeTlv(0x31, ...[...parts].sort(Buffer.compare));

const oid = {
  data: encodeObjectIdentifier('1.2.840.113549.1.7.1'),
  encryptedData: encodeObjectIdentifier('1.2.840.113549.1.7.6'),
  shroudedKeyBag: encodeObjectIdentifier('1.2.840.113549.1.12.10.1.2'),
  certificateBag: encodeObjectIdentifier('1.2.840.113549.1.12.10.1.3'),
  x509Certificate: encodeObjectIdentifier('1.2.840.113549.1.9.22.1'),
  friendlyName: encodeObjectIdentifier('1.2.840.113549.1.9.20'),
  localKeyId: encodeObjectIdentifier('1.2.840.113549.1.9.21'),
  pbes2: encodeObjectIdentifier('1.2.840.113549.1.5.13'),
  pbkdf2: encodeObjectIdentifier('1.2.840.113549.1.5.12'),
  hmacSha256: encodeObjectIdentifier('1.2.840.113549.2.9'),
  aes256Cbc: encodeObjectIdentifier('2.16.840.1.101.3.4.1.42'),
  sha256: encodeObjectIdentifier('2.16.840.1.101.3.4.2.1'),
} as const;

/** ContentInfo of type data (RFC 2315, sections 7 and 8). */
const dataContent = (content: Uint8Array) => sequence(oid.data, explicit(octetString(content)));

const certificateBag = (der: Uint8Array, ...attributesOfIt: readonly Uint8Array[]) =>
  sequence(
    oid.certificateBag,
    explicit(sequence(oid.x509Certificate, explicit(octetString(der)))),
    ...attributesOfIt,
  );

/** The localKeyId, which key and leaf share, connects them. Its value is free; OpenSSL writes this one. */
function attributes(leaf: Uint8Array): Uint8Array {
  const keyId = createHash('sha1').update(leaf).digest();
  return setOf(
    sequence(oid.friendlyName, setOf(encodeTlv(0x1e, utf16(pkcs12Alias)))),
    sequence(oid.localKeyId, setOf(octetString(keyId))),
  );
}

/** RFC 8018, section 6.2 and appendix A. */
function encryptPbes2(clear: Uint8Array, password: string, salt: Uint8Array, iv: Uint8Array) {
  const key = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const cipher = createCipheriv('aes-256-cbc', key, iv);
  const derivation = sequence(
    oid.pbkdf2,
    sequence(octetString(salt), encodeInteger(BigInt(iterations)), sequence(oid.hmacSha256, nothing)),
  );
  return {
    algorithm: sequence(oid.pbes2, sequence(derivation, sequence(oid.aes256Cbc, octetString(iv)))),
    ciphertext: Buffer.concat([cipher.update(clear), cipher.final()]),
  };
}

function macData(authenticatedSafe: Uint8Array, password: string, salt: Uint8Array): Uint8Array {
  const mac = createHmac('sha256', macKey(password, salt)).update(authenticatedSafe).digest();
  return sequence(
    sequence(sequence(oid.sha256, nothing), octetString(mac)),
    octetString(salt),
    encodeInteger(BigInt(iterations)),
  );
}

/** RFC 7292, appendix B.2, with SHA-256 (u = 32, v = 64 bytes) and ID 3: one block is the whole key. */
function macKey(password: string, salt: Uint8Array): Uint8Array {
  const blockBytes = 64;
  const filled = (bytes: Uint8Array) =>
    Buffer.alloc(Math.ceil(bytes.length / blockBytes) * blockBytes, bytes);
  const terminated = Buffer.concat([utf16(password), Buffer.of(0, 0)]);
  let digest: Uint8Array = Buffer.concat([Buffer.alloc(blockBytes, 3), filled(salt), filled(terminated)]);
  for (let round = 0; round < iterations; round++) digest = createHash('sha256').update(digest).digest();
  return digest;
}

/** Big-endian, as in a BMPString. */
const utf16 = (text: string) => Buffer.from(text, 'utf16le').swap16();
