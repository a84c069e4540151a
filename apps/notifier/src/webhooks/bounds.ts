import type { DeliveryBounds } from './delivery-lease';

/** Deliveries that one process sends to one endpoint at the same time. 16 to one that answers in 20 ms are several hundred per second. */
export const maxPlaces = 16;

/** The same for an endpoint that answers slowly: its places are held for long, and more of them would not help it. */
export const maxSlowPlaces = 4;

/** No answer within this time: slow, ms. */
export const slowAfterMs = 1_000;

/**
 * Limits over all processes. An endpoint that fails gets one place until it succeeds again. The limit of an endpoint is
 * twice that of a process, so that the leases of a process that was killed do not block the others until they expire.
 */
export const deliveryBounds: DeliveryBounds = {
  perEndpoint: 2 * maxPlaces,
  perFailingEndpoint: 1,
  perAccount: 128,
};
