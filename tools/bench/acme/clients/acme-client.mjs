// The acme-client package, with the same polling intervals as our client.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { publish } from '../challenge-server.mjs';
import { maxPollMs, minPollMs, sideBySide } from '../side-by-side.mjs';

export async function open({ directoryUrl, challengesUrl, concurrency, libraries }) {
  const acme = createRequire(`${libraries}/package.json`)('acme-client');
  const client = new acme.Client({
    directoryUrl,
    accountKey: await acme.crypto.createPrivateEcdsaKey('P-256'),
    backoffAttempts: 50,
    backoffMin: minPollMs,
    backoffMax: maxPollMs,
  });
  await client.createAccount({ termsOfServiceAgreed: true });
  const one = async ({ name, csrFile }) => {
    const order = await client.createOrder({ identifiers: [{ type: 'dns', value: name }] });
    for (const authorization of await client.getAuthorizations(order)) {
      const challenge = authorization.challenges.find(({ type }) => type === 'dns-01');
      const value = await client.getChallengeKeyAuthorization(challenge);
      await publish(challengesUrl, `_acme-challenge.${name}`, value);
      await client.completeChallenge(challenge);
      await client.waitForValidStatus(challenge);
    }
    const finalized = await client.finalizeOrder(order, readFileSync(csrFile));
    const chain = await client.getCertificate(finalized);
    if (!chain.includes('BEGIN CERTIFICATE')) throw new Error('no certificate');
  };
  return { issue: async (orders) => await sideBySide(concurrency, orders, one) };
}
