import { type FieldFault, Problem } from '@certwright/errors';
import { beginning, readId } from './cursor';

/** The parameters as they were sent: absent, one text, or an array where a parameter is repeated. */
export type Query = Readonly<Record<string, unknown>>;

const flags: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [undefined, false],
  ['', false],
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** Reads a query and collects what is wrong with it, so that a caller is told everything at once. Empty is as absent. */
export class QueryReading {
  private readonly faults: FieldFault[] = [];

  constructor(private readonly query: Query) {}

  /** @returns '' when it is absent, or there is a fault */
  requiredText(field: string, what: string): string {
    const value = this.query[field];
    if (value === undefined || value === '') this.fault(field, 'missing_field', `${what} is required.`);
    else if (typeof value !== 'string') this.fault(field, 'invalid_value', 'It is given more than once.');
    else return value;
    return '';
  }

  /** False when it is absent, or there is a fault. */
  flag(field: string): boolean {
    const value = flags.get(this.query[field]);
    if (value === undefined) this.fault(field, 'invalid_value', 'It must be true or false (1 or 0), once.');
    return value ?? false;
  }

  /** @returns null when it is absent */
  after(): string | null {
    const value = this.query['after'];
    if (value === undefined || value === '') return null;
    const id = typeof value === 'string' ? readId(value) : null;
    if (id === null) this.fault('after', 'invalid_value', 'It must be the id of an issuance, once.');
    return id ?? beginning;
  }

  fault(field: string, code: FieldFault['code'], message: string): void {
    this.faults.push({ field, code, message });
  }

  /** @throws Problem `bad_query` */
  assertNoFaults(): void {
    if (this.faults.length === 0) return;
    const fields = this.faults.map(({ field }) => field).join(', ');
    throw new Problem('bad_query', `The query cannot be answered as it stands: see ${fields}.`, {
      faults: this.faults,
    });
  }
}
