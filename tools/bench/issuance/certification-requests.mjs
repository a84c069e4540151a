// CSRs with separate keys, created in this process instead of by a customer's openssl.
import { generateKeyPairSync, sign } from 'node:crypto';
import { BitString, ObjectIdentifier, PrintableString, Sequence, Set, Utf8String } from 'asn1js';
import {
  Attribute,
  CertificationRequest,
  Extension,
  Extensions,
  GeneralName,
  GeneralNames,
  PublicKeyInfo,
} from 'pkijs';

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const extensionRequest = '1.2.840.113549.1.9.14';
const subjectAltName = '2.5.29.17';
const dnsName = 2;

/** The subject that the certificate API requires: a country and the name. @param {string} name */
export const subjectOf = (name) =>
  new Sequence({
    value: [
      ['2.5.4.6', new PrintableString({ value: 'US' })],
      ['2.5.4.3', new Utf8String({ value: name })],
    ].map(
      ([type, value]) =>
        new Set({ value: [new Sequence({ value: [new ObjectIdentifier({ value: type }), value] })] }),
    ),
  });

/**
 * @param {string} name
 * @param {Sequence} [subject] default: empty
 * @returns {string} DER in base64, as the API takes it
 */
export function certificationRequest(name, subject = new Sequence()) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const request = new CertificationRequest();
  request.subject.valueBeforeDecode = subject.toBER();
  request.subjectPublicKeyInfo = PublicKeyInfo.fromBER(publicKey.export({ type: 'spki', format: 'der' }));
  const names = new GeneralNames({ names: [new GeneralName({ type: dnsName, value: name })] });
  const extension = new Extension({ extnID: subjectAltName, extnValue: names.toSchema().toBER() });
  const extensions = new Extensions({ extensions: [extension] });
  request.attributes = [new Attribute({ type: extensionRequest, values: [extensions.toSchema()] })];
  const info = request.encodeTBS();
  const signature = sign('sha256', Buffer.from(info.toBER()), privateKey);
  const algorithm = new Sequence({ value: [new ObjectIdentifier({ value: ecdsaWithSha256 })] });
  const whole = new Sequence({
    value: [info, algorithm, new BitString({ valueHex: new Uint8Array(signature).buffer })],
  });
  return Buffer.from(whole.toBER()).toString('base64');
}
