/** The way of a name by which the mailbox of `approval` counts, as it stands in approvals and terms. */
const way = `jsonb_build_object('method', 'email', 'approverEmail', approval.address)`;

/** Whether an issuance is open that was told to ask the mailbox of `approval`. @param issuance its alias */
export const asksMailbox = (issuance: string) => `
  ${issuance}.plan_id = approval.plan_id AND ${issuance}.state = 'open'
  AND ${issuance}.approvals @> jsonb_build_array(jsonb_build_object('dnsName', approval.dns_name, 'way', ${way}))`;

/**
 * Whether a name is (still) to be approved by an address: the issuance that is open was told so, whatever the terms have
 * become; or the order as it stands now says so, and of a plan without one its terms: by the way of the name, or where none
 * is said by the address for it. A condition over `approval` (email_approval), `order_v3` and `terms`; null: no.
 */
export const wantedApproval = `(
  approval.dns_name = ANY (coalesce(order_v3.dns_names, terms.dns_names))
    AND CASE WHEN order_v3.plan_id IS NULL AND terms.approval_ways ? approval.dns_name
      THEN terms.approval_ways -> approval.dns_name @> ${way}
      ELSE coalesce(order_v3.approver_emails, terms.approver_emails) ->> approval.dns_name = approval.address END
  OR EXISTS (SELECT 1 FROM issuance AS asking WHERE ${asksMailbox('asking')}))`;
