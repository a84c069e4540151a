import { fieldFaultCodes, Problem, problemCodes } from '@certwright/errors';
import { renderErrorObject } from './error-object';

describe('error objects', () => {
  it('have a status of their class for every code', () => {
    for (const code of problemCodes)
      expect(renderErrorObject(new Problem(code, 'why')).status).toBeGreaterThanOrEqual(400);
  });

  it('carry field and sub_errors only where there are any', () => {
    expect(renderErrorObject(new Problem('not_found', 'why')).body).toEqual({
      code: 'not_found',
      message: 'why',
    });
    const fault = { field: 'csr', code: fieldFaultCodes[0], message: 'why' };
    expect(renderErrorObject(Problem.ofFields([fault])).body).toMatchObject({
      code: 'bad_request',
      sub_errors: [fault],
    });
  });
});
