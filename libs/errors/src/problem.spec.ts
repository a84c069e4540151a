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

  it('has the first 100 faults: a body may have very many', () => {
    const faults = Array.from({ length: 1_000 }, (_, nth) => {
      return { field: `dns_names.${nth}`, code: 'invalid_value', message: 'a' } as const;
    });
    const problem = Problem.ofFields(faults);
    expect(problem.faults).toEqual(faults.slice(0, 100));
    expect(problem.message).not.toContain('dns_names.100');
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
