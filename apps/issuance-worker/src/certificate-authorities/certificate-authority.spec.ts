import { installedPebbles, type PebbleRelease } from '../acme/testing/pebble';
import { AcmeIssuing } from '../testing/acme-issuing';
import { CuttingProxy, type Fate } from '../testing/cutting-proxy';
import { Issuing } from '../testing/issuing';
import { builtInLedger } from './testing/built-in-ledger';
import { describeCertificateAuthority } from './testing/certificate-authority-suite';
import type { AuthorityWorld } from './testing/authority-world';
import { healthPace } from './health/pace';

async function builtIn(): Promise<AuthorityWorld> {
  const issuing = await Issuing.open();
  return {
    ...builtInLedger(issuing),
    open: async (source = issuing.database) => await Promise.resolve(issuing.caOver(source)),
    close: issuing.close,
  };
}

const inProcess = {
  unavailable: 'it is part of the worker',
  lost_answer: 'it is part of the worker',
};
describeCertificateAuthority({ name: 'the built-in CA', setUp: builtIn, cannot: inProcess });

/** An ACME CA behind a proxy, as in the worker: the first CA of the product. */
async function acmeAuthority(release: PebbleRelease): Promise<AuthorityWorld> {
  const acme = await AcmeIssuing.open({ pace: { ...healthPace, failing: [] } });
  const pebble = await acme.pebble('pebble', {}, {}, release);
  const proxy = await CuttingProxy.start(pebble.directoryUrl, pebble.tlsRoot);
  await acme.database.query(`UPDATE certificate_authority SET directory_url = $1, tls_roots = $2`, [
    proxy.directoryUrl,
    proxy.tlsRoot,
  ]);
  await acme.authoritiesAre('pebble');
  const passed: Fate = { kind: 'passed' };
  return {
    database: acme.database,
    repositories: acme.issuing.repositories,
    unknownReferences: ['acme:999999999', 'acme:', 'acme:-1', '999999999'],
    open: async (source) => await Promise.resolve(acme.issuers(source)),
    issuedCount: async () => await Promise.resolve(proxy.finalized),
    revocationReason: async (serialNumber) => await acme.revocationReason(pebble, serialNumber),
    setAvailable: (isAvailable) => (proxy.fate = () => (isAvailable ? passed : { kind: 'cut' })),
    loseNextIssuance: () => {
      proxy.fate = ({ path }) => {
        if (!path.includes('/finalize-order/')) return passed;
        proxy.fate = () => passed;
        return { kind: 'dropped' };
      };
    },
    close: async () => {
      await proxy.stop();
      await acme.close();
    },
  };
}

for (const release of installedPebbles)
  describeCertificateAuthority({
    name: `an ACME CA (the ${release} pebble)`,
    setUp: async () => await acmeAuthority(release),
    cannot: { changed_reason: 'a certificate is revoked once (RFC 8555, section 7.6)' },
  });
