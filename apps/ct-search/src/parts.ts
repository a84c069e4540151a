import type { Provider, Type } from '@nestjs/common';

/** What a folder adds to the application. */
export interface Parts {
  readonly controllers: readonly Type[];
  readonly providers: readonly Provider[];
}
