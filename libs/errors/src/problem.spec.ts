import { fieldFaultCodes, Problem, problemCodes, problemExamples } from './index';

describe('Problem', () => {
  it('of fields is a bad_request that names each field once', () => {
    const problem = Problem.ofFields([
      { field: 'csr', code: 'weak_key', message: 'a' },
      { field: 'csr', code: 'csr_cn_mismatch', message: 'b' },
      { field: 'name', code: 'invalid_value', message: 'c' },
    ]);
    expect(problem.code).toBe('bad_request');
    expect(problem.message).toContain('see csr, name.');
    expect(problem.faults).toHaveLength(3);
  });
});

describe('codes', () => {
  it.each([
    ['problem codes', problemCodes],
    ['field fault codes', fieldFaultCodes],
  ])('%s are unique and machine-readable', (_, codes) => {
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });
});

it.each(Object.entries(problemExamples))('the example of %s has that code', (code, problem) => {
  expect(problem.code).toBe(code);
});
