/**
 * Oddities of a certificate that is nevertheless read; the values are stored and counted, so
 * their meaning never changes. `cut_off`: an element exceeds its parent. `ber_length`: a length in
 * another form than DER's. `no_tbs`: nothing that could be a TBSCertificate. `wrong_tag`, `missing_part`: of
 * a part of the TBSCertificate. `time_form`: a time that is not in the form of RFC 5280 was read.
 * `alternative_names`: they could not be read completely. `dropped_name`: a text in place of a name that
 * cannot be one. `poison`: present where it does not belong, or absent where it does.
 */
export type ReadingFault =
  | 'no_tbs'
  | 'cut_off'
  | 'ber_length'
  | 'trailing_bytes'
  | 'wrong_tag'
  | 'missing_part'
  | 'serial'
  | 'negative_serial'
  | 'not_before'
  | 'not_after'
  | 'time_form'
  | 'duplicate_extension'
  | 'alternative_names'
  | 'common_name'
  | 'dropped_name'
  | 'poison';

/** Because of them, names may be in other places than where they are read. */
export const hidingFaults: readonly ReadingFault[] = [
  'no_tbs',
  'cut_off',
  'ber_length',
  'wrong_tag',
  'missing_part',
  'alternative_names',
  'common_name',
];

const none: readonly ReadingFault[] = Object.freeze([]);

/** Collects faults, without duplicates. */
export class Faults {
  private found: ReadingFault[] | undefined;

  add(fault: ReadingFault): void {
    if (this.found === undefined) this.found = [fault];
    else if (!this.found.includes(fault)) this.found.push(fault);
  }

  list(): readonly ReadingFault[] {
    return this.found ?? none;
  }
}
