export { IdempotencyModule } from './idempotency.module';
export { IdempotencyRecords } from './idempotency-records';
export { type Keeping, RepeatableRequests, type WriteRequest } from './repeatable-requests';
export { type BodyFingerprint, type Reservation, ReservedRequests } from './reserved-requests';
