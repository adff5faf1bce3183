-- Parts that were encrypted for the worker on their way: what can go wrong with them.

INSERT INTO insp.error_code (code, sqlstate, message, retryable) VALUES
    ('DECRYPTION_FAILED', 'IN120', 'an encrypted part could not be decrypted', false),
    ('DECRYPTION_KEY_UNKNOWN', 'IN121', 'this worker has no key for an encrypted part', true);
