import type { AuthorityWorld } from '../../../apps/issuance-worker/src/certificate-authorities/testing/authority-world';
import { builtInLedger } from '../../../apps/issuance-worker/src/certificate-authorities/testing/built-in-ledger';
import { describeCertificateAuthority } from '../../../apps/issuance-worker/src/certificate-authorities/testing/certificate-authority-suite';
import { Issuing } from '../../../apps/issuance-worker/src/testing/issuing';
import { Chance } from '../chance';
import { FaultyAuthority } from './faulty-authority';

async function faulty(): Promise<AuthorityWorld> {
  const issuing = await Issuing.open();
  let isAvailable = true;
  const faults = {
    isDown: () => !isAvailable,
    chance: new Chance('spec'),
    freezing: () => 0,
    nowMs: () => Date.now(),
  };
  return {
    ...builtInLedger(issuing),
    open: async (source = issuing.database) => new FaultyAuthority(await issuing.caOver(source), faults),
    setAvailable: (available) => (isAvailable = available),
    close: issuing.close,
  };
}

describeCertificateAuthority({
  name: 'the simulated CA',
  setUp: faulty,
  cannot: { lost_answer: 'frozen workers lose them' },
});
