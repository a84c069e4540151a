import { newClusterKey } from './cluster-key';
import { joinString, newEnrolmentToken, parseJoinString } from './join-string';

const token = newEnrolmentToken();
const { seed } = newClusterKey();

it('carries a token, and the seed of the cluster key when there is one', () => {
  expect(parseJoinString(joinString({ token, clusterKeySeed: null }))).toEqual({
    token,
    clusterKeySeed: null,
  });
  const text = joinString({ token, clusterKeySeed: seed });
  expect(text).toMatch(/^cwj1\.[\w-]{43}\.[\w-]{43}$/);
  expect(parseJoinString(`${text}\n`)).toEqual({ token, clusterKeySeed: seed });
});

it.each([
  ['', 'form'],
  [token, 'form'],
  [`cwj2.${token}`, 'form'],
  ['cwj1', 'form'],
  [`cwj1.${token}.${token}.${token}`, 'form'],
  ['cwj1.', 'token'],
  [`cwj1.${token.slice(1)}`, 'token'],
  [`cwj1.${token}=`, 'token'],
  [`cwj1.${token}.`, 'cluster key'],
  [`cwj1.${token}.${token}A`, 'cluster key'],
])('refuses %j without repeating it', (text, reason) => {
  expect(() => parseJoinString(text)).toThrow(reason);
  try {
    parseJoinString(text);
  } catch (error) {
    expect((error as Error).message).not.toContain(token.slice(1));
  }
});
