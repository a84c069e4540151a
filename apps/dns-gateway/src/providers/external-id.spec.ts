import { externalIdOf } from './external-id';

describe('the external id', () => {
  it('never changes for an account', () => {
    expect(externalIdOf('a secret of the operator', 'route53', 'account-1')).toBe(
      'certwright-zkghoipsi4ahpp3svxcr3orc7ly5remushal2r25lxapowx7hpya',
    );
  });

  it('differs by account, provider and secret, and fits the formats of AWS and Azure', () => {
    const ids = [
      externalIdOf('one secret', 'route53', 'account-1'),
      externalIdOf('one secret', 'route53', 'account-2'),
      externalIdOf('one secret', 'azure', 'account-1'),
      externalIdOf('another secret', 'route53', 'account-1'),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^certwright-[a-z2-7]{52}$/);
  });
});
