import { Expansion } from './expansion';

describe('an expansion', () => {
  const expansion = Expansion.of(['current.crt', 'current..chain', '.csr.', 'pending', '', '...', 7, ['x']]);

  it('contains named members and their parents', () => {
    const names = ['current', 'csr', 'pending', 'crt', '', '7', 'x', '__proto__', 'constructor'];
    expect(names.filter((name) => expansion.has(name))).toEqual(['current', 'csr', 'pending']);
  });

  it('has below a member what is named behind it', () => {
    const below = expansion.below('current');
    expect(['crt', 'chain', 'csr', 'root'].filter((name) => below.has(name))).toEqual(['crt', 'chain']);
    expect(below.below('crt').has('crt')).toBe(false);
  });

  it('is empty without requested members', () => {
    for (const expand of [undefined, null, '', '.', [], {}]) {
      expect(Expansion.of(expand).below('current').has('crt')).toBe(false);
    }
  });

  it('is built once, however often a page looks up members, and for any size of the parameter', () => {
    const much = Expansion.of(Array.from({ length: 1_000 }, (_, at) => `sans.dns_approval.x${at}`));
    expect(much.below('sans')).toBe(much.below('sans'));
    expect(much.below('nothing')).toBe(Expansion.none);
  });
});
