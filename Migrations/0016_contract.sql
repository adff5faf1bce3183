-- The words of the contract with partners: kinds of part, workflows, labels, and reasons with advice. Checks of requests read
-- them; where a table is too slow (insp.plain_requests, insp.definition_key), and in the programs' enums, the same words are
-- written out, and LookupTests compares them.

CREATE TABLE insp.part_kind (
    kind text PRIMARY KEY CHECK (kind ~ '^[A-Z][A-Z0-9_]+$'),
    place smallint NOT NULL UNIQUE,
    source text NOT NULL CHECK (source IN ('document', 'chip', 'person', 'vendor')),
    is_image boolean NOT NULL,
    is_many boolean NOT NULL DEFAULT false,
    meaning text NOT NULL
);
COMMENT ON TABLE insp.part_kind IS 'Kinds of part that a job may have. A new one is also a case of PartKind';
COMMENT ON COLUMN insp.part_kind.kind IS 'The name in payloads, results and insp.part';
COMMENT ON COLUMN insp.part_kind.place IS 'Rank: the order in which kinds are listed';
COMMENT ON COLUMN insp.part_kind.source IS 'Its subject or origin: document, chip, person, or vendor (opaque to this system)';
COMMENT ON COLUMN insp.part_kind.is_image IS 'Whether it is an image that the analyzer decodes';
COMMENT ON COLUMN insp.part_kind.is_many IS 'Whether a job may have more than one, in order';
COMMENT ON COLUMN insp.part_kind.meaning IS 'What it is';
GRANT SELECT ON insp.part_kind TO insp_producer, insp_gateway, insp_operator, insp_auditor;
INSERT INTO insp.part_kind (kind, place, source, is_image, is_many, meaning) VALUES
    ('FRONT', 1, 'document', true, false, 'The document''s front, or a passport''s data page'),
    ('BACK', 2, 'document', true, false, 'The back of a two-sided document'),
    ('FACE', 3, 'person', true, false, 'The selfie'),
    ('FRAMES', 4, 'person', true, true, 'The frames of a liveness capture'),
    ('DG1', 5, 'chip', false, false, 'Data group 1: the MRZ (ICAO 9303-10)'),
    ('DG2', 6, 'chip', false, false, 'Data group 2: the encoded face (ICAO 9303-10)'),
    ('DG7', 7, 'chip', false, false, 'Data group 7: the displayed signature (ICAO 9303-10)'),
    ('DG11', 8, 'chip', false, false, 'Data group 11: additional details of the holder (ICAO 9303-10)'),
    ('DG12', 9, 'chip', false, false, 'Data group 12: additional details of the document (ICAO 9303-10)'),
    ('SOD', 10, 'chip', false, false, 'The document security object (ICAO 9303-10)'),
    ('SESSION_BLOB', 11, 'vendor', false, false, 'A vendor''s liveness session');

CREATE TABLE insp.workflow (
    name text PRIMARY KEY CHECK (name ~ '^[a-z_]+$'),
    place smallint NOT NULL UNIQUE,
    definition_key text NOT NULL UNIQUE,
    capabilities text[] NOT NULL,
    stages smallint[] NOT NULL CHECK (stages <@ ARRAY[4, 8, 16, 32]::smallint[]),
    takes text[] NOT NULL,
    needs_all text[] NOT NULL DEFAULT '{}' CHECK (needs_all <@ takes),
    needs_one text[] NOT NULL DEFAULT '{}' CHECK (needs_one <@ takes),
    captures text[] NOT NULL DEFAULT '{}' CHECK (captures <@ takes),
    face_event text CHECK (face_event IN ('enrollment', 'verification', 'liveness')),
    meaning text NOT NULL
);
COMMENT ON TABLE insp.workflow IS 'What a job runs, and on which parts';
COMMENT ON COLUMN insp.workflow.name IS 'The name in payloads and results';
COMMENT ON COLUMN insp.workflow.place IS 'Rank: the order in which workflows are listed';
COMMENT ON COLUMN insp.workflow.definition_key IS 'Its definition key in Jumio''s API, which payloads may use as well; its name if there is none';
COMMENT ON COLUMN insp.workflow.capabilities IS
    'The capabilities decided, in order. Those with liveness accept a challenge; with similarity or authentication, a threshold; with authentication or enrollment, a faceId';
COMMENT ON COLUMN insp.workflow.stages IS 'Statuses whose results are stored, in order';
COMMENT ON COLUMN insp.workflow.takes IS 'Kinds of part that a job may have (insp.part_kind)';
COMMENT ON COLUMN insp.workflow.needs_all IS 'Kinds that it must have';
COMMENT ON COLUMN insp.workflow.needs_one IS 'Kinds of which it must have at least one';
COMMENT ON COLUMN insp.workflow.captures IS
    'Kinds that a capture link''s page takes, in order: BACK of cards alone, FRAMES for a challenge; none: no link runs it';
COMMENT ON COLUMN insp.workflow.face_event IS 'Type of the face SDK''s event at its end; null: none';
COMMENT ON COLUMN insp.workflow.meaning IS 'What it does';
GRANT SELECT ON insp.workflow TO insp_producer, insp_gateway, insp_operator, insp_auditor;
INSERT INTO insp.workflow (name, place, definition_key, capabilities, stages, takes, needs_all, needs_one, captures, face_event,
    meaning) VALUES
    -- A chip alone identifies the holder; there is no image to check then.
    ('id', 1, '2', '{usability,imageChecks,extraction,dataChecks}', '{4,8}',
        '{FRONT,BACK,FACE,FRAMES,DG1,DG2,DG7,DG11,DG12,SOD,SESSION_BLOB}', '{}', '{FRONT,SOD}', '{FRONT,BACK}', NULL, 'Verifies a document'),
    ('id_identity', 2, '3', '{usability,imageChecks,extraction,dataChecks,similarity,liveness}', '{4,8,16,32}',
        '{FRONT,BACK,FACE,FRAMES,DG1,DG2,DG7,DG11,DG12,SOD,SESSION_BLOB}', '{FRONT}', '{}', '{FRONT,BACK,FACE,FRAMES}', NULL,
        'Verifies a document and its holder'),
    ('similarity', 3, '5', '{usability,similarity}', '{4,8,16}',
        '{FRONT,BACK,FACE,FRAMES,DG1,DG2,DG7,DG11,DG12,SOD,SESSION_BLOB}', '{FRONT,FACE}', '{}', '{FRONT,FACE}', NULL,
        'Compares a document''s portrait with a selfie'),
    ('liveness', 4, '6', '{usability,liveness}', '{4,16,32}', '{FACE,FRAMES,SESSION_BLOB}', '{}', '{FACE,FRAMES,SESSION_BLOB}',
        '{FACE,FRAMES}', 'liveness', 'Decides whether a living person was in front of the camera'),
    ('authentication', 5, '9', '{usability,liveness,authentication}', '{4,16,32}', '{FACE,FRAMES,SESSION_BLOB}', '{FACE}', '{}', '{}',
        'verification', 'Compares a selfie with what is enrolled under a face id'),
    ('enrollment', 6, 'enrollment', '{usability,liveness,enrollment}', '{4,16,32}', '{FACE,FRAMES,SESSION_BLOB}', '{FACE}', '{}', '{}',
        'enrollment', 'Enrols a selfie under a face id');

-- A script that adds a row to either table must run this again.
UPDATE insp.error_code e SET hint = h.hint FROM (
    SELECT 'PART_UNKNOWN', format('A part is %s.', regexp_replace(string_agg(k.kind, ', ' ORDER BY k.place), ', (\w+)$', ' or \1'))
    FROM insp.part_kind k
    UNION ALL
    SELECT 'WORKFLOW_UNKNOWN', format('A workflow is %s.', regexp_replace(string_agg(
        w.name || CASE WHEN w.definition_key <> w.name THEN format(' (%s)', w.definition_key) ELSE '' END, ', '
        ORDER BY w.place), ', ([^,]+)$', ' or \1'))
    FROM insp.workflow w) AS h (code, hint)
WHERE e.code = h.code;

CREATE TABLE insp.label (
    label text PRIMARY KEY CHECK (label ~ '^[A-Z][A-Z0-9_]{0,63}$'),
    capabilities text[] NOT NULL,
    is_objection boolean NOT NULL,
    is_given boolean NOT NULL DEFAULT true,
    risk smallint NOT NULL DEFAULT 0 CHECK (risk BETWEEN 0 AND 99)
);
COMMENT ON TABLE insp.label IS
    'Labels of decisions, named as in Jumio''s Retrieval API. A reviewer may give another one (insp.review)';
COMMENT ON COLUMN insp.label.label IS 'The label';
COMMENT ON COLUMN insp.label.capabilities IS 'Capabilities that give it; empty: it is given to a whole job';
COMMENT ON COLUMN insp.label.is_objection IS 'Whether it is an objection to an input; then insp.reason says what to do';
COMMENT ON COLUMN insp.label.is_given IS 'Whether this version can give it; otherwise it is listed as not assessed';
COMMENT ON COLUMN insp.label.risk IS 'Weight of the finding in the risk of a decision, in hundredths; 0: it is not a finding';
GRANT SELECT ON insp.label TO insp_producer, insp_gateway, insp_operator, insp_reviewer, insp_auditor;
INSERT INTO insp.label (label, capabilities, is_objection) VALUES
    ('OK', '{usability,imageChecks,extraction,dataChecks,liveness}', false),
    ('MATCH', '{similarity,authentication}', false),
    ('ENROLLED', '{enrollment}', false),
    ('PRECONDITION_NOT_FULFILLED',
        '{usability,imageChecks,extraction,dataChecks,similarity,liveness,authentication,enrollment}', false),
    ('TECHNICAL_ERROR', '{usability,imageChecks,extraction,dataChecks,similarity,liveness,authentication,enrollment}', false),
    ('PASSED', '{}', false), ('WARNING', '{}', false), ('REJECTED', '{}', false), ('NOT_EXECUTED', '{}', false),
    ('NOT_A_DOCUMENT', '{usability}', true), ('BLACK_WHITE', '{usability,liveness}', true), ('PHOTOCOPY', '{usability}', true),
    ('BAD_QUALITY_IMAGE', '{usability}', true), ('BAD_QUALITY', '{usability,liveness}', true), ('BLURRED', '{usability}', true),
    ('GLARE', '{usability}', true), ('PART_OF_DOCUMENT_MISSING', '{usability}', true),
    ('PART_OF_DOCUMENT_HIDDEN', '{usability}', true), ('DAMAGED_DOCUMENT', '{usability,imageChecks}', true),
    ('MISSING_PAGE', '{usability}', true), ('MISSING_MANDATORY_DATAPOINTS', '{usability}', true),
    ('UNSUPPORTED_COUNTRY', '{usability}', true), ('UNSUPPORTED_DOCUMENT_TYPE', '{usability}', true),
    ('COUNTRY_UNDETERMINED', '{usability}', true), ('DOCUMENT_TYPE_UNDETERMINED', '{usability}', true),
    ('DIGITAL_COPY', '{imageChecks,liveness}', true), ('SAMPLE', '{imageChecks}', true),
    ('MISMATCH_FRONT_BACK', '{imageChecks}', true), ('MANIPULATED_DOCUMENT', '{imageChecks}', true),
    ('GHOST_IMAGE_DIFFERENT', '{imageChecks}', true), ('PUNCHED', '{imageChecks}', true),
    ('NFC_CERTIFICATE', '{dataChecks}', true), ('MRZ_CHECKSUM', '{dataChecks}', true),
    ('MISMATCH_HRZ_MRZ_DATA', '{dataChecks}', true), ('MISMATCHING_DATAPOINTS', '{dataChecks}', true),
    ('DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT', '{dataChecks}', true),
    ('UNDERAGE', '{dataChecks}', true), ('AGE_UNDETERMINED', '{dataChecks}', true),
    ('NO_MATCH', '{similarity,liveness,authentication}', true), ('NOT_POSSIBLE', '{similarity,authentication}', true),
    ('NO_FACE_PRESENT', '{liveness}', true), ('MULTIPLE_PEOPLE', '{liveness}', true),
    ('ID_USED_AS_SELFIE', '{liveness}', true),
    ('FACE_NOT_FULLY_VISIBLE', '{liveness}', true), ('TOO_BRIGHT', '{liveness}', true),
    ('CHALLENGE_FAILED', '{liveness}', true), ('CHALLENGE_TIMEOUT', '{liveness}', true),
    ('LIVENESS_UNDETERMINED', '{liveness}', true), ('NOT_ENROLLED', '{enrollment}', true);
INSERT INTO insp.label (label, capabilities, is_objection, is_given) VALUES
    ('WATERMARK', '{imageChecks}', true, false), ('FAKE', '{imageChecks}', true, false);
UPDATE insp.label l SET risk = w.risk FROM (VALUES
    (90, '{DIGITAL_COPY,NFC_CERTIFICATE,MISMATCH_HRZ_MRZ_DATA,MISMATCHING_DATAPOINTS,NO_MATCH,ID_USED_AS_SELFIE,FAKE,MANIPULATED_DOCUMENT}'::text[]),
    (80, '{PHOTOCOPY,MRZ_CHECKSUM}'), (70, '{MISMATCH_FRONT_BACK,CHALLENGE_FAILED,WATERMARK,GHOST_IMAGE_DIFFERENT}'),
    (60, '{BLACK_WHITE}'), (50, '{SAMPLE,NOT_A_DOCUMENT,MULTIPLE_PEOPLE,UNDERAGE,PUNCHED}'),
    (40, '{LIVENESS_UNDETERMINED,NO_FACE_PRESENT,NOT_POSSIBLE}'),
    (30, '{DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT,AGE_UNDETERMINED,CHALLENGE_TIMEOUT,PART_OF_DOCUMENT_HIDDEN,DAMAGED_DOCUMENT,NOT_ENROLLED}'),
    (20, '{PART_OF_DOCUMENT_MISSING,MISSING_PAGE,MISSING_MANDATORY_DATAPOINTS,UNSUPPORTED_COUNTRY,UNSUPPORTED_DOCUMENT_TYPE,COUNTRY_UNDETERMINED,DOCUMENT_TYPE_UNDETERMINED,FACE_NOT_FULLY_VISIBLE,PRECONDITION_NOT_FULFILLED,TECHNICAL_ERROR}'),
    (10, '{BAD_QUALITY_IMAGE,BAD_QUALITY,BLURRED,GLARE,TOO_BRIGHT}')) AS w (risk, labels)
WHERE l.label = ANY (w.labels);

CREATE TABLE insp.reason (
    code text PRIMARY KEY CHECK (code ~ '^[A-Z][A-Z_]+$'),
    labels text[] NOT NULL CHECK (labels <> '{}'),
    parts text[] NOT NULL,
    contract_code integer UNIQUE,
    mobile_code text CHECK (mobile_code ~ '^[A-Z][0-9]{5}$')
);
COMMENT ON TABLE insp.reason IS 'What is wrong with a part. insp.reasons has the reasons with advice to the person';
COMMENT ON COLUMN insp.reason.code IS 'The reason; it is the message of a result''s rejectReasons if contract_code is set';
COMMENT ON COLUMN insp.reason.labels IS 'Labels that it may explain (insp.label)';
COMMENT ON COLUMN insp.reason.parts IS 'Kinds of part that it concerns (insp.part_kind); none: the whole job';
COMMENT ON COLUMN insp.reason.contract_code IS
    'Its number in Jumio''s mobile SDK (class RejectReason), the code of a result''s rejectReasons; null: the SDK has none, and only the label states the reason';
COMMENT ON COLUMN insp.reason.mobile_code IS
    'The error with which Jumio''s mobile SDK reports it to an app''s own interface: Z turn the document over; null: none';
GRANT SELECT ON insp.reason TO insp_operator, insp_reviewer, insp_auditor;
INSERT INTO insp.reason (code, labels, parts, contract_code) VALUES
    ('BLACK_WHITE_COPY', '{BLACK_WHITE,PHOTOCOPY}', '{FRONT,BACK}', 102),
    ('COLOR_PHOTOCOPY', '{PHOTOCOPY}', '{FRONT,BACK}', 103),
    ('DIGITAL_COPY', '{DIGITAL_COPY}', '{FRONT,BACK}', 104),
    ('NOT_READABLE', '{BAD_QUALITY_IMAGE,MISSING_MANDATORY_DATAPOINTS}', '{FRONT,BACK}', 200),
    ('NO_DOC', '{NOT_A_DOCUMENT}', '{FRONT,BACK}', 201),
    ('MISSING_BACK', '{MISSING_PAGE}', '{BACK}', 206),
    ('MISSING_FRONT', '{MISSING_PAGE}', '{FRONT}', 214),
    ('BLURRY', '{BLURRED}', '{FRONT,BACK}', 2001),
    ('MISSING_PART_DOC', '{PART_OF_DOCUMENT_MISSING}', '{FRONT,BACK}', 2003),
    ('HIDDEN_PART_DOC', '{PART_OF_DOCUMENT_HIDDEN}', '{FRONT,BACK}', 2004),
    ('DAMAGED_DOCUMENT', '{DAMAGED_DOCUMENT}', '{FRONT,BACK}', 2005),
    ('GLARE', '{GLARE}', '{FRONT,BACK}', 2006),
    ('UNSUPPORTED_COUNTRY', '{UNSUPPORTED_COUNTRY}', '{FRONT,BACK,DG1}', NULL),
    ('UNSUPPORTED_DOCUMENT_TYPE', '{UNSUPPORTED_DOCUMENT_TYPE}', '{FRONT,BACK,DG1}', NULL),
    ('COUNTRY_UNDETERMINED', '{COUNTRY_UNDETERMINED}', '{FRONT,BACK,SOD}', NULL),
    ('DOCUMENT_TYPE_UNDETERMINED', '{DOCUMENT_TYPE_UNDETERMINED}', '{FRONT,BACK,SOD}', NULL),
    ('SAMPLE', '{SAMPLE}', '{FRONT,BACK}', NULL),
    ('MISMATCH_FRONT_BACK', '{MISMATCH_FRONT_BACK}', '{FRONT,BACK}', NULL),
    ('MANIPULATED_DOCUMENT', '{MANIPULATED_DOCUMENT}', '{FRONT,BACK}', NULL),
    ('GHOST_IMAGE_DIFFERENT', '{GHOST_IMAGE_DIFFERENT}', '{FRONT}', NULL),
    ('PUNCHED', '{PUNCHED}', '{FRONT,BACK}', NULL),
    ('CHIP_NOT_AUTHENTIC', '{NFC_CERTIFICATE}', '{DG1,DG2,DG7,DG11,DG12,SOD}', NULL),
    ('NO_TRUST_ANCHOR', '{NFC_CERTIFICATE}', '{DG1,DG2,DG7,DG11,DG12,SOD}', NULL),
    ('MRZ_CHECKSUM', '{MRZ_CHECKSUM}', '{FRONT,BACK,DG1}', NULL),
    ('MISMATCHING_DATA', '{MISMATCH_HRZ_MRZ_DATA,MISMATCHING_DATAPOINTS}', '{FRONT,BACK,DG1}', NULL),
    ('DOCUMENT_EXPIRED', '{DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT}', '{FRONT,BACK,DG1}', NULL),
    ('UNDERAGE', '{UNDERAGE}', '{FRONT,BACK,DG1}', NULL),
    ('AGE_UNDETERMINED', '{AGE_UNDETERMINED}', '{FRONT,BACK,DG1}', NULL),
    ('FACE_BLACK_WHITE', '{BLACK_WHITE}', '{FACE,FRAMES}', NULL),
    ('FACE_DIGITAL_COPY', '{DIGITAL_COPY}', '{FACE,FRAMES}', NULL),
    ('FACE_BLURRY', '{BLURRED}', '{FACE}', NULL),
    ('FACE_BAD_QUALITY', '{BAD_QUALITY}', '{FACE}', NULL),
    ('NO_FACE_PRESENT', '{NO_FACE_PRESENT}', '{FACE,FRAMES}', NULL),
    ('MULTIPLE_PEOPLE', '{MULTIPLE_PEOPLE}', '{FACE,FRAMES}', NULL),
    ('ID_USED_AS_SELFIE', '{ID_USED_AS_SELFIE}', '{FACE}', NULL),
    ('FACE_NOT_FULLY_VISIBLE', '{FACE_NOT_FULLY_VISIBLE}', '{FACE,FRAMES}', NULL),
    ('TOO_BRIGHT', '{TOO_BRIGHT}', '{FRAMES}', NULL),
    ('CHALLENGE_FAILED', '{CHALLENGE_FAILED}', '{FRAMES}', NULL),
    ('CHALLENGE_TIMEOUT', '{CHALLENGE_TIMEOUT}', '{FRAMES}', NULL),
    ('LIVENESS_UNDETERMINED', '{LIVENESS_UNDETERMINED}', '{FACE,FRAMES,SESSION_BLOB}', NULL),
    ('FACE_NO_MATCH', '{NO_MATCH}', '{FACE,SESSION_BLOB}', NULL),
    ('FACE_NOT_COMPARED', '{NOT_POSSIBLE}', '{FRONT,FACE,DG2}', NULL),
    ('NOT_ENROLLED', '{NOT_ENROLLED}', '{FACE}', NULL),
    ('NO_COLOURS', '{PRECONDITION_NOT_FULFILLED}', '{FRONT,BACK}', NULL),
    ('TOO_FEW_PIXELS', '{PRECONDITION_NOT_FULFILLED}', '{FRONT,BACK}', NULL),
    ('MRZ_NOT_LEGIBLE', '{PRECONDITION_NOT_FULFILLED}', '{FRONT,BACK}', NULL),
    ('NO_MACHINE_READABLE_DATA', '{PRECONDITION_NOT_FULFILLED}', '{FRONT,BACK}', NULL),
    ('BACK_NOT_SENT', '{PRECONDITION_NOT_FULFILLED}', '{BACK}', NULL),
    ('NO_SELFIE', '{PRECONDITION_NOT_FULFILLED}', '{FACE}', NULL),
    ('NOT_ASSESSED', '{PRECONDITION_NOT_FULFILLED,TECHNICAL_ERROR}', '{}', NULL);

UPDATE insp.reason SET mobile_code = 'Z00000' WHERE code IN ('MISSING_BACK', 'MISSING_FRONT', 'BACK_NOT_SENT');

CREATE TABLE insp.reason_advice (
    code text NOT NULL REFERENCES insp.reason,
    language text NOT NULL CHECK (language ~ '^[a-z]{2}$'),
    advice text NOT NULL,
    PRIMARY KEY (code, language)
);
COMMENT ON TABLE insp.reason_advice IS 'What the person in front of the camera can do about a reason, by language';
COMMENT ON COLUMN insp.reason_advice.code IS 'The reason';
COMMENT ON COLUMN insp.reason_advice.language IS 'ISO 639-1 code. Every reason has advice in English; a further language needs only rows';
COMMENT ON COLUMN insp.reason_advice.advice IS 'One sentence or two';
GRANT SELECT ON insp.reason_advice TO insp_operator, insp_reviewer, insp_auditor;
INSERT INTO insp.reason_advice (code, language, advice)
SELECT a.code, l.language, l.advice FROM (VALUES
    ('BLACK_WHITE_COPY', 'Photograph the document itself, not a black-and-white copy.',
        'Fotografieren Sie das Dokument selbst, keine Schwarz-Weiß-Kopie.'),
    ('COLOR_PHOTOCOPY', 'Photograph the document itself, not a photocopy.',
        'Fotografieren Sie das Dokument selbst, keine Fotokopie.'),
    ('DIGITAL_COPY', 'Photograph the document itself, not a screen.',
        'Fotografieren Sie das Dokument selbst, keinen Bildschirm.'),
    ('NOT_READABLE', 'Move closer to the document and use more light.',
        'Gehen Sie näher an das Dokument heran und sorgen Sie für mehr Licht.'),
    ('NO_DOC', 'Photograph an identity document.', 'Fotografieren Sie ein Ausweisdokument.'),
    ('MISSING_BACK', 'Turn the document over and photograph its back.',
        'Drehen Sie das Dokument um und fotografieren Sie seine Rückseite.'),
    ('MISSING_FRONT', 'Turn the document over and photograph its front.',
        'Drehen Sie das Dokument um und fotografieren Sie seine Vorderseite.'),
    ('BLURRY', 'Hold the camera still and let it focus.',
        'Halten Sie die Kamera ruhig und lassen Sie sie scharfstellen.'),
    ('MISSING_PART_DOC', 'Keep the whole document inside the frame.', 'Das ganze Dokument muss im Bild sein.'),
    ('HIDDEN_PART_DOC', 'Remove fingers and objects from the document.',
        'Verdecken Sie das Dokument nicht mit Fingern oder Gegenständen.'),
    ('DAMAGED_DOCUMENT', 'Use a document that is not damaged.', 'Verwenden Sie ein unbeschädigtes Dokument.'),
    ('GLARE', 'Tilt the document until no light reflects on it.',
        'Kippen Sie das Dokument, bis sich kein Licht darin spiegelt.'),
    ('UNSUPPORTED_COUNTRY', 'Use a document of a country that is accepted.',
        'Verwenden Sie ein Dokument eines zugelassenen Landes.'),
    ('UNSUPPORTED_DOCUMENT_TYPE', 'Use a document of a type that is accepted.',
        'Verwenden Sie ein Dokument einer zugelassenen Art.'),
    ('COUNTRY_UNDETERMINED', 'Photograph both sides of the document, sharp and complete. If this repeats, use another document.',
        'Fotografieren Sie beide Seiten des Dokuments, scharf und vollständig. Hilft das nicht, verwenden Sie ein anderes.'),
    ('DOCUMENT_TYPE_UNDETERMINED', 'Photograph both sides of the document, sharp and complete. If this repeats, use another document.',
        'Fotografieren Sie beide Seiten des Dokuments, scharf und vollständig. Hilft das nicht, verwenden Sie ein anderes.'),
    ('SAMPLE', 'Use a genuine document, not a specimen.', 'Verwenden Sie ein echtes Dokument, kein Muster.'),
    ('MISMATCH_FRONT_BACK', 'Photograph both sides of the same document.',
        'Fotografieren Sie beide Seiten desselben Dokuments.'),
    ('MANIPULATED_DOCUMENT', 'Photograph the document itself, and send the photo as the camera took it.',
        'Fotografieren Sie das Dokument selbst und senden Sie das Foto so, wie die Kamera es aufnahm.'),
    ('GHOST_IMAGE_DIFFERENT', 'Photograph the document again, sharp and without reflections. If this repeats, use another document.',
        'Fotografieren Sie das Dokument noch einmal, scharf und ohne Spiegelungen. Hilft das nicht, verwenden Sie ein anderes.'),
    ('PUNCHED', 'Use a document that is valid and has no holes.',
        'Verwenden Sie ein gültiges Dokument ohne Löcher.'),
    ('CHIP_NOT_AUTHENTIC', 'Read the chip again. If this repeats, use another document.',
        'Lesen Sie den Chip noch einmal. Hilft das nicht, verwenden Sie ein anderes Dokument.'),
    ('NO_TRUST_ANCHOR', 'You need not do anything: the operator must configure the CSCA certificate of the document''s country.',
        'Sie müssen nichts tun: Der Betreiber muss das CSCA-Zertifikat des Ausstellerlandes hinterlegen.'),
    ('MRZ_CHECKSUM', 'Photograph the machine-readable lines again, sharp and complete.',
        'Fotografieren Sie die maschinenlesbaren Zeilen noch einmal, scharf und vollständig.'),
    ('MISMATCHING_DATA', 'Photograph the document again, sharp and complete. If this repeats, use another document.',
        'Fotografieren Sie das Dokument noch einmal, scharf und vollständig. Hilft das nicht, verwenden Sie ein anderes.'),
    ('DOCUMENT_EXPIRED', 'Use a document that has not expired.', 'Verwenden Sie ein Dokument, das noch gültig ist.'),
    ('UNDERAGE', 'You are below the age that is required.', 'Sie haben das nötige Alter noch nicht erreicht.'),
    ('AGE_UNDETERMINED', 'Use a document that shows your date of birth, and photograph it sharp and complete.',
        'Verwenden Sie ein Dokument mit Ihrem Geburtsdatum und fotografieren Sie es scharf und vollständig.'),
    ('FACE_BLACK_WHITE', 'Take the selfie in colour.', 'Nehmen Sie das Selfie in Farbe auf.'),
    ('FACE_DIGITAL_COPY', 'Show your own face, not a screen or a print.',
        'Zeigen Sie Ihr eigenes Gesicht, keinen Bildschirm und keinen Ausdruck.'),
    ('FACE_BLURRY', 'Hold the camera still and let it focus.',
        'Halten Sie die Kamera ruhig und lassen Sie sie scharfstellen.'),
    ('FACE_BAD_QUALITY', 'Move closer to the camera and use even light.',
        'Gehen Sie näher an die Kamera heran und sorgen Sie für gleichmäßiges Licht.'),
    ('NO_FACE_PRESENT', 'Look into the camera.', 'Sehen Sie in die Kamera.'),
    ('MULTIPLE_PEOPLE', 'Nobody else may be in the image.', 'Niemand sonst darf im Bild sein.'),
    ('ID_USED_AS_SELFIE', 'Show your own face, not a document.', 'Zeigen Sie Ihr eigenes Gesicht, kein Dokument.'),
    ('FACE_NOT_FULLY_VISIBLE', 'Keep your whole face inside the frame, and uncovered.',
        'Ihr ganzes Gesicht muss unverdeckt im Bild sein.'),
    ('TOO_BRIGHT', 'Move to a darker place.', 'Gehen Sie an einen dunkleren Ort.'),
    ('CHALLENGE_FAILED', 'Try again and follow the instructions on the screen.',
        'Versuchen Sie es noch einmal und folgen Sie den Anweisungen auf dem Bildschirm.'),
    ('CHALLENGE_TIMEOUT', 'Try again and follow each instruction at once.',
        'Versuchen Sie es noch einmal und folgen Sie jeder Anweisung sofort.'),
    ('LIVENESS_UNDETERMINED', 'Try again in even light and look into the camera.',
        'Versuchen Sie es noch einmal bei gleichmäßigem Licht und sehen Sie in die Kamera.'),
    ('FACE_NO_MATCH', 'Take the selfie again. It must show the right person.',
        'Nehmen Sie das Selfie noch einmal auf. Es muss die richtige Person zeigen.'),
    ('FACE_NOT_COMPARED', 'Take the photos again. Each must show a face clearly.',
        'Nehmen Sie die Fotos noch einmal auf. Jedes muss ein Gesicht deutlich zeigen.'),
    ('NOT_ENROLLED', 'Take the selfie again in even light and look into the camera.',
        'Nehmen Sie das Selfie bei gleichmäßigem Licht noch einmal auf und sehen Sie in die Kamera.'),
    ('NO_COLOURS', 'Photograph the document in colour.', 'Fotografieren Sie das Dokument in Farbe.'),
    ('TOO_FEW_PIXELS', 'Move closer to the document, and send the photo as the camera took it.',
        'Gehen Sie näher an das Dokument heran und senden Sie das Foto so, wie die Kamera es aufnahm.'),
    ('MRZ_NOT_LEGIBLE', 'Photograph the machine-readable lines again, sharp and without reflections.',
        'Fotografieren Sie die maschinenlesbaren Zeilen noch einmal, scharf und ohne Spiegelungen.'),
    ('NO_MACHINE_READABLE_DATA', 'Photograph the document again, sharp and complete. If this repeats, use one with machine-readable lines or a barcode.',
        'Fotografieren Sie das Dokument noch einmal, scharf und vollständig. Hilft das nicht, verwenden Sie eines mit maschinenlesbaren Zeilen oder einem Barcode.'),
    ('BACK_NOT_SENT', 'Turn the document over and photograph its back as well.',
        'Drehen Sie das Dokument um und fotografieren Sie auch seine Rückseite.'),
    ('NO_SELFIE', 'Take a selfie.', 'Nehmen Sie ein Selfie auf.'),
    ('NOT_ASSESSED', 'Try again later.', 'Versuchen Sie es später noch einmal.')
    ) AS a (code, en, de) CROSS JOIN LATERAL (VALUES ('en', a.en), ('de', a.de)) AS l (language, advice);

CREATE TABLE insp.error_contract (
    code text PRIMARY KEY REFERENCES insp.error_code,
    mobile_code text NOT NULL CHECK (mobile_code ~ '^[A-Z][0-9]{5}$'),
    face_outcome text NOT NULL REFERENCES insp.face_outcome,
    payment_code integer
);
COMMENT ON TABLE insp.error_contract IS 'Each error''s codes in the contracts of partners'' apps';
COMMENT ON COLUMN insp.error_contract.code IS 'The error';
COMMENT ON COLUMN insp.error_contract.mobile_code IS
    'Its code in Jumio''s mobile SDK: A network, B no secure connection, C not authorised, E no connection, F service unavailable, G cancelled, I encryption key not valid, J session ended, N required input missing or unusable';
COMMENT ON COLUMN insp.error_contract.face_outcome IS 'How a job of the face SDK ends with it (insp.face_outcome, which has the SDK''s error)';
COMMENT ON COLUMN insp.error_contract.payment_code IS 'Its number in iZettle''s SDK; null: the SDK has none';
GRANT SELECT ON insp.error_contract TO insp_producer, insp_gateway, insp_operator, insp_auditor;
INSERT INTO insp.error_contract (code, mobile_code, face_outcome, payment_code)
SELECT unnest(c.codes), c.mobile_code, c.face_outcome, c.payment_code FROM (VALUES
    ('B10000', 'unknown', NULL::integer, ARRAY['CERTIFICATE_INVALID', 'PIN_MISMATCH', 'TLS_FAILED']),
    ('E10000', 'unknown', NULL, ARRAY['CONNECTION_FAILED', 'NAME_NOT_RESOLVED']),
    ('I00000', 'unknown', NULL, ARRAY['DECRYPTION_KEY_UNKNOWN']),
    ('A10000', 'unknown', NULL, ARRAY['ATTEMPT_INTERRUPTED',
        'DATABASE_UNAVAILABLE', 'EGRESS_REFUSED', 'ENDPOINT_GONE', 'GATEWAY_OVERLOADED', 'KEYS_UNAVAILABLE', 'LOCAL_FAULT', 'OBJECT_STORE_UNAVAILABLE',
        'PART_UNREACHABLE', 'RATE_LIMITED', 'REDIRECT_REFUSED', 'RESPONSE_BROKEN', 'RESPONSE_TOO_LARGE',
        'STATUS_NOT_SUCCESS', 'STORAGE_QUOTA_REACHED', 'TIMED_OUT', 'VENDOR_UNREACHABLE',
        'WAITING_QUOTA_REACHED']),
    ('A10000', 'unknown', -501, ARRAY['AUTHORIZATION_FAILED']),
    ('C00401', 'unusable', NULL, ARRAY['PARTNER_DISABLED']),
    ('C00401', 'unusable', -300, ARRAY['CLIENT_ID_INVALID', 'PARTNER_UNKNOWN', 'UNAUTHENTICATED']),
    ('C00403', 'unusable', NULL, ARRAY['SCOPE_MISSING']),
    ('F00000', 'liveness_failed', NULL, ARRAY['VENDOR_OUTCOME_UNKNOWN', 'VENDOR_REFUSED', 'VENDOR_RESPONSE_INVALID']),
    ('F00000', 'unknown', NULL, ARRAY['ANALYZER_CRASHED', 'ANALYZER_OUT_OF_MEMORY', 'ANALYZER_TIMEOUT', 'ANALYZER_UNAVAILABLE',
        'ATTEMPTS_EXHAUSTED', 'FACE_BUSY', 'INTERNAL_ERROR', 'KEY_DESTROYED', 'KEY_FILE_INVALID',
        'KEY_MISMATCH', 'KEY_MISSING', 'KEY_UNKNOWN', 'LEASE_LOST', 'MODEL_UNAVAILABLE', 'OBJECT_MISSING',
        'SEAL_BROKEN', 'VENDOR_NOT_CONFIGURED', 'WORKER_LOST']),
    ('F00000', 'unknown', -501, ARRAY['WORKFLOW_NOT_IMPLEMENTED']),
    ('G00000', 'cancelled', NULL, ARRAY['CANCELLED', 'FACE_DELETED']),
    ('J00000', 'timeout', NULL, ARRAY['EXPIRED']),
    ('J00000', 'unusable', NULL, ARRAY['CASE_TAKEN', 'CHALLENGE_EXPIRED', 'JOB_AMBIGUOUS', 'JOB_NOT_FINISHED',
        'JOB_UNKNOWN', 'LINK_ENDED', 'PARTS_PURGED', 'REQUEST_PURGED', 'REVIEW_NOT_DUE', 'SESSION_ENDED']),
    ('N00000', 'unknown', NULL, ARRAY['DECRYPTION_FAILED', 'FACE_RATE_LIMITED', 'SELECTION_BUSY', 'SESSION_BUSY']),
    ('N00000', 'unusable', -202, ARRAY['CALLBACK_URL_INVALID']),
    ('N00000', 'unusable', -203, ARRAY['CALLBACK_URL_MISSING'])
    ) AS c (mobile_code, face_outcome, payment_code, codes);
-- All others are errors in a request.
INSERT INTO insp.error_contract (code, mobile_code, face_outcome)
SELECT e.code, 'N00000', 'unusable' FROM insp.error_code e
WHERE NOT EXISTS (SELECT FROM insp.error_contract c WHERE c.code = e.code);
