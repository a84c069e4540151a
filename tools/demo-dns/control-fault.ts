/** Error codes of the platform's APIs that the control uses, with their statuses. */
export const STATUSES = {
  bad_request: 400,
  missing_field: 400,
  invalid_value: 400,
  unauthorized: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  request_too_large: 413,
  unsupported_media_type: 415,
} as const;
export type ControlCode = keyof typeof STATUSES;

/** An error of a request to the control; its message is part of the response. */
export class ControlFault extends Error {
  constructor(
    readonly code: ControlCode,
    message: string,
    readonly field?: string,
    /** HTTP methods that the path supports. */
    readonly allow?: readonly string[],
  ) {
    super(message);
    this.name = 'ControlFault';
  }
}
