/**
 * Why a process cannot start or is not ready, in one line for its operator: names the setting, says what is wrong and what
 * to do. Contains no secret. The stack is of no use, so it is not logged.
 */
export class StartFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartFault';
  }
}
