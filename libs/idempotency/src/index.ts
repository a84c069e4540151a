export { IdempotencyModule } from './idempotency.module';
export { type BodyFingerprint, IdempotencyRecords } from './idempotency-records';
export { type Keeping, RepeatableRequests, type WriteRequest } from './repeatable-requests';
export { type Reservation, ReservedRequests } from './reserved-requests';
