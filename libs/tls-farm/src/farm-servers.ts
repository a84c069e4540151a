import type { FindingCode } from '@certwright/endpoint-checks';
import type { Behaviour } from './addressed-server';
import {
  echoes,
  fatalAlert,
  inPieces,
  inTurns,
  neverEnds,
  presents,
  replies,
  resetsAfter,
  resetsAtOnce,
  says,
  staysSilent,
  stopsAfter,
  tlsRecord,
} from './behaviours';
import { type FarmCertificates, farmDomain } from './farm-certificates';

/** `closed`: nothing listens. `private`: an address that no prober connects to. `IPv6`: ::1, which all of them share. */
export type At = Behaviour | 'closed' | 'private' | 'IPv6';

export interface FarmServer {
  /** Label below the domain of the farm. */
  readonly label: string;
  /** One for each address. */
  readonly at: readonly At[];
  /** Findings of the first look, of the second, and so on in turns, in alphabetical order. */
  readonly findings: readonly (readonly FindingCode[])[];
}

const server = (label: string, at: At | readonly At[], ...findings: readonly FindingCode[]): FarmServer => ({
  label,
  at: Array.isArray(at) ? (at as readonly At[]) : [at as At],
  findings: [[...findings].sort()],
});

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

export function farmServers(of: FarmCertificates): readonly FarmServer[] {
  return [...soundServers(of), ...unsoundServers(of), ...serversByAddress(of), ...otherServers(of)];
}

/** Nothing is wrong with them. */
function soundServers(of: FarmCertificates): readonly FarmServer[] {
  const chain = [of.good, of.upper];
  return [
    server('good', presents(chain, { response: ok })),
    server('tls12', presents(chain, { version: 'TLSv1.2' })),
    server('tls13', presents(chain, { version: 'TLSv1.3' })),
    server('with-root', presents([...chain, of.root])),
    server('by-root', presents([of.byRoot])),
    server('long-chain', presents([of.byLower, of.lower, of.upper])),
    server('reversed-chain', presents([of.byLower, of.upper, of.lower])),
    server('unrelated', presents([of.good, of.otherUpper, of.upper, of.otherRoot])),
    server('repeated', presents([of.good, of.upper, of.upper, of.good])),
    server('crossed', presents([of.good, of.crossed, of.upper])),
    server('client-wanted', presents(chain, { clientCertificate: 'wanted' })),
    server('client-required12', presents(chain, { clientCertificate: 'required', version: 'TLSv1.2' })),
    server('client-required13', presents(chain, { clientCertificate: 'required', version: 'TLSv1.3' })),
    server('closes-after', presents(chain, { closesAfterHandshake: true })),
    server('in-pieces', inPieces(presents(chain))),
    server('_underscore', presents(chain)),
    server(
      'by-server-name',
      presents([of.otherName], { byServerName: { [`by-server-name.${farmDomain}`]: chain } }),
    ),
  ];
}

function unsoundServers(of: FarmCertificates): readonly FarmServer[] {
  const chain = [of.good, of.upper];
  return [
    server('expired', presents([of.expired, of.upper]), 'expired'),
    server('not-yet-valid', presents([of.notYetValid, of.upper]), 'not_yet_valid'),
    server('expiring', presents([of.expiring, of.upper]), 'expiring'),
    server('wrong-name', presents([of.otherName, of.upper]), 'wrong_name'),
    server('no-name', presents([of.unnamed, of.upper]), 'wrong_name'),
    server('too.deep', presents(chain), 'wrong_name'),
    server('base', presents([of.named(`*.base.${farmDomain}`), of.upper]), 'wrong_name'),
    server(
      'other-server-name',
      presents([of.otherName], { byServerName: { 'a.example.com': chain } }),
      'wrong_name',
      'incomplete_chain',
    ),
    server('missing-intermediate', presents([of.good]), 'incomplete_chain'),
    server('missing-upper', presents([of.byLower, of.lower]), 'incomplete_chain'),
    server('missing-lower', presents([of.byLower, of.upper]), 'incomplete_chain'),
    server('wrong-intermediate', presents([of.good, of.otherUpper]), 'incomplete_chain'),
    server('unknown-ca', presents([of.byOther]), 'untrusted'),
    server('private-root', presents([of.byOther, of.otherUpper, of.otherRoot]), 'untrusted'),
    server('expired-intermediate', presents([of.byExpiredUpper, of.expiredUpper]), 'untrusted'),
    server('no-ca', presents([of.byNoCa, of.noCa]), 'untrusted'),
    server('for-clients', presents([of.forClients, of.upper]), 'untrusted'),
    server('self-signed', presents([of.selfSigned]), 'self_signed'),
    server('expired-self-signed', presents([of.expiredSelfSigned]), 'self_signed', 'expired'),
    server('sha1', presents([of.sha1, of.upper]), 'weak'),
    server('sha1-intermediate', presents([of.byWeakUpper, of.weakUpper]), 'weak'),
    server('rsa1024', presents([of.rsa1024, of.upper]), 'weak'),
    server('tls10', presents(chain, { version: 'TLSv1' }), 'weak'),
    server('tls11', presents(chain, { version: 'TLSv1.1' }), 'weak'),
    server('tls10-rsa1024', presents([of.rsa1024, of.upper], { version: 'TLSv1' }), 'weak'),
    server(
      'tls11-client-required',
      presents(chain, { version: 'TLSv1.1', clientCertificate: 'required' }),
      'weak',
    ),
    server(
      'tls10-wrong-name',
      presents([of.otherName, of.upper], { version: 'TLSv1' }),
      'weak',
      'wrong_name',
    ),
    server('everything', presents([of.expiredOtherName]), 'expired', 'incomplete_chain', 'wrong_name'),
    {
      ...server('flapping', inTurns(presents([of.expired, of.upper]), presents(chain))),
      findings: [['expired'], []],
    },
  ];
}

function serversByAddress(of: FarmCertificates): readonly FarmServer[] {
  const good = presents([of.good, of.upper]);
  const expired = presents([of.expired, of.upper]);
  return [
    server('four-addresses', [good, good, good, good]),
    server(
      'twenty-addresses',
      Array.from({ length: 20 }, () => good),
    ),
    server('ipv6', 'IPv6'),
    server('both-families', ['IPv6', good]),
    server('differing', [good, expired], 'expired', 'addresses_differ'),
    server('differing-chain', [good, presents([of.good])], 'incomplete_chain'),
    server('half-closed', [good, 'closed'], 'addresses_differ'),
    server('half-private', [good, 'private'], 'addresses_differ'),
    server('all-private', ['private'], 'unreachable'),
    server('half-renewed', [good, presents([of.byLower, of.lower, of.upper])], 'addresses_differ'),
  ];
}

/** No certificate is presented, or it cannot be read. */
function otherServers(of: FarmCertificates): readonly FarmServer[] {
  const helloOf = (version: number) =>
    tlsRecord(
      22,
      Buffer.concat([Buffer.of(2, 0, 0, 38, 3, version), Buffer.alloc(33), Buffer.of(0xc0, 0x14, 0)]),
    );
  const unreachable = (label: string, at: At) => server(label, at, 'unreachable');
  const many = Array.from({ length: 2_000 }, () => of.upper);
  return [
    unreachable('closed', 'closed'),
    unreachable('plain-http', replies(ok)),
    unreachable('smtp', says('220 secret ESMTP\r\n')),
    unreachable('garbage', says(Buffer.alloc(1_000, 0xa5))),
    unreachable('echo', echoes),
    unreachable('silent', staysSilent),
    unreachable('silent-after-hello', stopsAfter(helloOf(3))),
    unreachable('silent-in-record', stopsAfter(Buffer.of(22, 3, 3, 64, 0, 2))),
    unreachable('endless-garbage', neverEnds(Buffer.alloc(16_384, 0x5a))),
    unreachable('endless-records', neverEnds(tlsRecord(22, Buffer.of()))),
    unreachable(
      'endless-handshake',
      neverEnds(tlsRecord(22, Buffer.concat([Buffer.of(2, 0xff, 0xff, 0xff), Buffer.alloc(16_000)]))),
    ),
    unreachable('endless-alerts', neverEnds(tlsRecord(21, Buffer.of(1, 112)))),
    unreachable('megabyte-chain', presents([of.good, ...many])),
    unreachable('reset', resetsAtOnce),
    unreachable('reset-after-client-hello', resetsAfter(Buffer.of())),
    unreachable('reset-in-server-hello', resetsAfter(helloOf(3).subarray(0, 20))),
    unreachable('reset-after-server-hello', resetsAfter(helloOf(3))),
    unreachable('closes', says('')),
    unreachable('alert-handshake-failure', replies(fatalAlert(40))),
    unreachable('alert-protocol-version', replies(fatalAlert(70))),
    unreachable('alert-unrecognized-name', replies(fatalAlert(112))),
    unreachable('alert-unknown', replies(fatalAlert(222))),
    unreachable('ssl3', stopsAfter(helloOf(0))),
    unreachable('no-suite', presents([of.good], { version: 'TLSv1.2', suites: 'PSK' })),
  ];
}
