import { Module } from '@nestjs/common';
import { IdempotencyRecords } from './idempotency-records';
import { RepeatableRequests } from './repeatable-requests';
import { ReservedRequests } from './reserved-requests';

const providers = [IdempotencyRecords, RepeatableRequests, ReservedRequests];

/** Requests with an `Idempotency-Key`, whose first response is repeated. */
@Module({ providers, exports: providers })
export class IdempotencyModule {}
