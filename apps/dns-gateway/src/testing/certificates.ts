import type { KeyAndCertificate, TestRoot } from '@certwright/testing';

export const spiffe = (name: string): string => `spiffe://certwright.internal/${name}`;

export const serverOf = (root: TestRoot): KeyAndCertificate =>
  root.certify({ names: 'DNS:localhost, IP:127.0.0.1', use: 'serverAuth' });

export const clientOf = (root: TestRoot, name: string): KeyAndCertificate =>
  root.certify({ names: `URI:${spiffe(name)}`, use: 'clientAuth' });
