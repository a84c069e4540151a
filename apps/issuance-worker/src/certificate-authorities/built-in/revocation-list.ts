import { Integer, Null } from 'asn1js';
import {
  AlgorithmIdentifier,
  type Certificate,
  CertificateRevocationList,
  Extension,
  Extensions,
  RevokedCertificate,
  Time,
} from 'pkijs';
import type { RevocationListDraft } from './revocation-lists';
import { arrayBuffer, authorityKeyIdentifier, crlNumber, reasonCode } from './extensions';
import { oid } from './oids';

/** X.509 CRL version 2. */
const version2 = 1;

/** unspecified(0) is expressed by omitting the extension (RFC 5280, 5.3.1). */
const unspecified = 0;

/** Exposes the TBS of a list: pkijs would sign it itself, but ours are signed elsewhere. */
class UnsignedList extends CertificateRevocationList {
  toTbs(): Uint8Array {
    return new Uint8Array(this.encodeTBS().toBER());
  }
}

/** The TBSCertList (DER): RFC 5280, 5.1. */
export function revocationListTbs(
  draft: RevocationListDraft,
  nextUpdate: Date,
  issuer: Certificate,
): Uint8Array {
  const list = new UnsignedList();
  list.version = version2;
  list.signature = new AlgorithmIdentifier({
    algorithmId: oid.sha256WithRsaEncryption,
    algorithmParams: new Null(),
  });
  list.issuer = issuer.subject;
  list.thisUpdate = time(draft.now);
  list.nextUpdate = time(nextUpdate);
  if (draft.revoked.length > 0) list.revokedCertificates = draft.revoked.map(revokedCertificate);
  list.crlExtensions = extensionsOf(authorityKeyIdentifier(issuer), crlNumber(draft.number));
  return list.toTbs();
}

function revokedCertificate({
  serialNumber,
  revokedAt,
  reason,
}: RevocationListDraft['revoked'][number]): RevokedCertificate {
  const entry = new RevokedCertificate({
    userCertificate: new Integer({ valueHex: arrayBuffer(serialNumber) }),
    revocationDate: time(revokedAt),
  });
  if (reason !== null && reason !== unspecified) {
    entry.crlEntryExtensions = extensionsOf(reasonCode(reason));
  }
  return entry;
}

/** @param ders an Extension each */
function extensionsOf(...ders: readonly Uint8Array[]): Extensions {
  return new Extensions({ extensions: ders.map((der) => Extension.fromBER(arrayBuffer(der))) });
}

/** UTCTime until 2049, then GeneralizedTime (RFC 5280, 5.1.2.4). */
function time(value: Date): Time {
  return new Time({ type: value.getUTCFullYear() < 2050 ? 0 : 1, value });
}
