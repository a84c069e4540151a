import type { DeliveryBounds } from './delivery-lease';

/**
 * Max concurrent deliveries of one process to one endpoint. With responses in 20 ms, 16 are several hundred per
 * second.
 */
export const maxPlaces = 16;

/** The same for a slow endpoint: its slots are used for long, and more of them would not help it. */
export const maxSlowPlaces = 4;

/** Slow: no response within this time, ms. */
export const slowAfterMs = 1_000;

/**
 * Limits over all processes. A failing endpoint gets one slot until it succeeds again. The limit of an endpoint is
 * twice that of a process, so that the leases of a killed process do not block the others until they expire.
 */
export const deliveryBounds: DeliveryBounds = {
  perEndpoint: 2 * maxPlaces,
  perFailingEndpoint: 1,
  perAccount: 128,
};
