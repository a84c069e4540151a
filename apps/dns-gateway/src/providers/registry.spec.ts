import { providerNames } from '@certwright/gateway-contract';
import { bareOperator, type OperatorSettings } from './operator';
import { providers } from './registry';

const oauthClient = {
  clientId: 'client',
  clientSecret: 'planted-secret',
  redirectUri: 'https://x.example/cb',
};
const whole: OperatorSettings = {
  ...bareOperator,
  oauth: { cloudflare: oauthClient, digitalocean: oauthClient, dnsimple: oauthClient, google: oauthClient },
  aws: {
    accessKeyId: 'AKIA',
    secretAccessKey: 'planted-secret',
    sessionToken: null,
    principalArn: 'arn:aws:iam::999988887777:user/certwright',
    stsRegion: 'us-east-1',
    externalIdSecret: 'planted-secret-of-the-operator',
  },
  azure: { clientId: 'application', clientSecret: 'planted-secret' },
};

describe('the registry', () => {
  it('has every provider of the contract under its own name', () => {
    const all = providers(bareOperator);
    expect([...all.keys()].sort()).toEqual([...providerNames].sort());
    for (const [name, provider] of all) expect(provider.name).toBe(name);
  });

  it('describes every provider configured by the operator, without a secret', () => {
    const kinds = [...providers(whole).values()].map((provider) => provider.credentialKinds('account-1'));
    for (const each of kinds) expect(each.length).toBeGreaterThan(0);
    expect(JSON.stringify(kinds)).not.toContain('planted');
  });

  it('offers no provider that needs an account of the operator when there is none', () => {
    const all = providers(bareOperator);
    for (const name of ['azure', 'google', 'route53'] as const) {
      expect(all.get(name)?.credentialKinds('account-1')).toEqual([]);
    }
    const types = [...all.values()].flatMap((provider) => provider.credentialKinds('account-1'));
    expect(new Set(types.map(({ type }) => type))).toEqual(new Set(['bearer']));
  });
});
