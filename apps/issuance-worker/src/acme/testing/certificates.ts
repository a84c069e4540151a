import { type KeyAndCertificate, TestRoot } from '@certwright/testing';

/** A certificate for localhost, with the root that issued it. */
export interface LocalCertificate extends KeyAndCertificate {
  readonly root: string;
}

export function makeLocalCertificate(): LocalCertificate {
  const root = new TestRoot('Fake root');
  try {
    return { root: root.pem, ...root.certify({ names: 'DNS:localhost, DNS:one.example.com' }) };
  } finally {
    root.dispose();
  }
}
