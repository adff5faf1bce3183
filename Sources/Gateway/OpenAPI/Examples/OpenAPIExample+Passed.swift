extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let passed = #"""
        {
          "schemaVersion": 1,
          "id": "01a21da9-c396-7a18-8d9b-f659e13204c9",
          "status": 128,
          "workflow": {"key": "id_identity", "definitionKey": "3"},
          "createdAt": "2026-11-27T15:39:54.625Z",
          "startedAt": "2026-11-27T15:39:54.669Z",
          "completedAt": "2026-11-27T15:39:56.730Z",
          "userReference": "user 7",
          "decision": {"risk": {"score": 0}, "type": "PASSED", "details": {"label": "PASSED"}},
          "capabilities": {
            "liveness": [
              {
                "data": {
                  "steps": [
                    {"name": "BLUE", "endMs": 664, "score": 0.9972622682250523, "outcome": "pass", "startMs": 264},
                    {"name": "MAGENTA", "endMs": 1064, "score": 0.998090482114566, "outcome": "pass", "startMs": 664},
                    {"name": "GREEN", "endMs": 1464, "score": 0.9980701099263841, "outcome": "pass", "startMs": 1064},
                    {"name": "YELLOW", "endMs": 1864, "score": 0.9880779763505365, "outcome": "pass", "startMs": 1464},
                    {"name": "MAGENTA", "endMs": 2264, "score": 0.9858016279562726, "outcome": "pass", "startMs": 1864},
                    {"name": "RED", "endMs": 2664, "score": 0.9942208884731509, "outcome": "pass", "startMs": 2264},
                    {"name": "CYAN", "endMs": 3064, "score": 0.9957729498861413, "outcome": "pass", "startMs": 2664}
                  ],
                  "method": "colour_flash",
                  "scores": {
                    "grey": 0,
                    "lead": 0.05007579230785336,
                    "soft": 0,
                    "frame": 0,
                    "lagMs": 264,
                    "moire": 0,
                    "noise": 0.004468430673234368,
                    "relief": 1.292684235356413,
                    "faceGain": 0.3041349416827288,
                    "response": 0.28883760984029555,
                    "specular": 0.003719842703794239,
                    "flatFocus": 0,
                    "saturated": 0.0990950226244344,
                    "weakerHalf": 0.9820276504096064,
                    "correlation": 0.981154480534067,
                    "narrowColour": 0.018346718490863112,
                    "backgroundGain": 0.0173511095512677
                  },
                  "findings": [],
                  "assurance": "challenge",
                  "resultCode": 1
                },
                "parts": ["FACE", "FRAMES"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ],
            "usability": [
              {
                "data": {
                  "side": {"kind": "DATA_PAGE", "evidence": ["PORTRAIT", "MRZ_OF_FRONT"], "isCertain": true},
                  "image": {"width": 1600, "format": "JPEG", "height": 1200, "orientation": 1, "storedWidth": 1600, "storedHeight": 1200},
                  "outline": {
                    "quad": {
                      "topLeft": {"x": 159.94714757354188, "y": 151.29247631450352},
                      "topRight": {"x": 1435.3166988806674, "y": 158.7564008848198},
                      "bottomLeft": {"x": 186.42081890302634, "y": 1026.0147013465203},
                      "bottomRight": {"x": 1401.750916647005, "y": 1021.7328962713403}
                    },
                    "support": 0.9546088951151297,
                    "aspectRatio": 1.4324810872168665,
                    "cornersOutside": 0
                  },
                  "quality": {
                    "moire": 2.148294448852539,
                    "chroma": 67,
                    "contrast": 50.122449942812885,
                    "halftone": 0,
                    "tornEdge": 0,
                    "coherence": 0.13847003280376624,
                    "edgeWidth": 2.325040033169265,
                    "occlusion": 0,
                    "brightness": 199.04262599498816,
                    "glareShare": 0,
                    "printShare": 0.048779445288753796,
                    "punchedHole": 0,
                    "midtoneShare": 0.7270100911458334,
                    "documentWidth": 1245.3645161913341,
                    "missingCorner": 0,
                    "balancedChroma": 59,
                    "backgroundChroma": 81,
                    "laplacianVariance": 461.39586499091763
                  }
                },
                "parts": ["FRONT"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ],
            "dataChecks": [
              {
                "data": {
                  "checks": [
                    {"name": "mrzCheckDigits", "outcome": "pass"},
                    {"name": "calendar", "outcome": "pass"},
                    {"name": "sourcesAgree", "reason": "only one source was read", "outcome": "inconclusive"},
                    {"name": "datesPlausible", "outcome": "pass"},
                    {"name": "notExpired", "outcome": "pass"},
                    {"name": "vizAgrees", "outcome": "pass"}
                  ]
                },
                "parts": ["FRONT"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ],
            "extraction": [
              {
                "data": {
                  "mrz": {
                    "part": "FRONT",
                    "lines": ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16"],
                    "checks": {"birthDate": true, "composite": true, "expiryDate": true, "documentNumber": true, "personalNumber": true},
                    "format": "TD3",
                    "uncertain": []
                  },
                  "viz": {
                    "part": "FRONT",
                    "cpuMs": 91.81239400000001,
                    "fields": [
                      {"name": "lastName", "value": "ERIKSSON", "comparison": "agrees", "confidence": 0.9999964237213135},
                      {"name": "firstName", "value": "ANNA MARIA", "comparison": "agrees", "confidence": 0.9999998807907104},
                      {"name": "documentNumber", "value": "L898902C3", "comparison": "agrees", "confidence": 0.9999889135360718},
                      {"name": "dateOfBirth", "value": "12 AUG 1974", "comparison": "agrees", "confidence": 0.9999974966049194},
                      {"name": "expiryDate", "value": "15 APR 2034", "comparison": "agrees", "confidence": 0.999842643737793},
                      {"name": "nationality", "value": "UTOPIAN", "confidence": 0.9999521970748901},
                      {"name": "personalNumber", "value": "ZE184226B", "confidence": 0.999980092048645},
                      {"name": "placeOfBirth", "value": "ZENITH", "confidence": 0.9843587875366211},
                      {"name": "issuingDate", "value": "2024-04-16", "confidence": 0.9995864033699036},
                      {"name": "issuingAuthority", "value": "PASSPORT OFFICE", "confidence": 1}
                    ],
                    "linesRead": 18,
                    "linesFound": 28,
                    "modelSHA256": "d17b77c2ac61f5c348d285f07233ee5e10570139791e2fe2b9bc7379f7d7a26d",
                    "comparedWith": "FRONT"
                  },
                  "type": "PASSPORT",
                  "gender": "F",
                  "lastName": "ERIKSSON",
                  "mrzLine1": "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<",
                  "mrzLine2": "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
                  "scanMode": "mrz",
                  "firstName": "ANNA MARIA",
                  "expiryDate": "2034-04-15",
                  "dateOfBirth": "1974-08-12",
                  "issuingDate": "2024-04-16",
                  "nationality": "UTO",
                  "placeOfBirth": "ZENITH",
                  "documentNumber": "L898902C3",
                  "issuingCountry": "UTO",
                  "personalNumber": "ZE184226B",
                  "extractionMethod": "MRZ",
                  "issuingAuthority": "PASSPORT OFFICE"
                },
                "parts": ["FRONT"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ],
            "similarity": [
              {
                "data": {
                  "engine": "dlib-resnet-v1/5pt/mirror2",
                  "outcome": "MATCH",
                  "distance": 0.06627126988861197,
                  "threshold": 0.85,
                  "similarity": 0.9999906266414912,
                  "fmrAtThreshold": 0.0007482786887585682
                },
                "parts": ["FRONT", "FACE"],
                "decision": {"type": "PASSED", "details": {"label": "MATCH"}}
              }
            ],
            "imageChecks": [
              {
                "data": {
                  "assessed": ["DIGITAL_COPY", "SAMPLE", "PUNCHED", "DAMAGED_DOCUMENT"],
                  "notAssessed": ["MANIPULATED_DOCUMENT", "WATERMARK", "GHOST_IMAGE_DIFFERENT", "FAKE"]
                },
                "parts": ["FRONT"],
                "decision": {"type": "PASSED", "details": {"label": "OK"}}
              }
            ]
          },
          "reasons": [],
          "rejectReasons": [],
          "faces": [
            {
              "box": {"x": 313, "y": 421, "width": 210, "height": 208},
              "part": "FRONT",
              "quality": {
                "roll": -0.34936017950277015,
                "chroma": 23.484063016434668,
                "centreX": 0.255015625,
                "visible": 1.0000000582529809,
                "eyeLineY": 0.60046875,
                "headWidth": 0.12915240089231794,
                "sharpness": 392.55437272652955,
                "yawOffset": 0.0015429230025652755,
                "overExposed": 0,
                "dynamicRange": 6.971008320900623,
                "underExposed": 0.075077022863629,
                "luminanceMean": 0.2830829494113196,
                "colourDistance": 0,
                "interEyeDistance": 86.10160059487863,
                "luminanceVariance": 0.017382111761880162,
                "backgroundGradient": 14.601025869558889,
                "illuminationUniformity": 0.6015625
              },
              "landmarks": [
                {"x": 348.70000000000005, "y": 479.7},
                {"x": 381.25, "y": 479.7},
                {"x": 468.40000000000003, "y": 479.7},
                {"x": 433.75, "y": 478.65000000000003},
                {"x": 408.55, "y": 543.75}
              ]
            },
            {
              "box": {"x": 209, "y": 161, "width": 216, "height": 216},
              "part": "FACE",
              "quality": {
                "roll": 0,
                "chroma": 24.369882660214046,
                "centreX": 0.49992187500000007,
                "visible": 0.9999999850888741,
                "eyeLineY": 0.55,
                "headWidth": 0.3179250000000001,
                "sharpness": 406.95764294011275,
                "yawOffset": -0.015923566878981155,
                "overExposed": 0,
                "dynamicRange": 7.162611383005817,
                "underExposed": 0.06923950056753689,
                "luminanceMean": 0.3114922245856343,
                "colourDistance": 0,
                "interEyeDistance": 84.78000000000003,
                "luminanceVariance": 0.02337049264932639,
                "backgroundGradient": 13.968291416670167,
                "illuminationUniformity": 0.546875
              },
              "landmarks": [
                {"x": 261.36, "y": 216},
                {"x": 293.76, "y": 216},
                {"x": 379.08, "y": 216},
                {"x": 345.6, "y": 216},
                {"x": 318.6, "y": 279.71999999999997}
              ],
              "assessment": {
                "measures": [
                  {"name": "luminanceMean", "score": 90, "native": 0.3114922245856343},
                  {"name": "luminanceVariance", "score": 97, "native": 0.02337049264932639},
                  {"name": "overExposurePrevention", "score": 100, "native": 0},
                  {"name": "underExposurePrevention", "score": 100, "native": 0.06923950056753689},
                  {"name": "dynamicRange", "score": 90, "native": 7.162611383005817},
                  {"name": "illuminationUniformity", "note": "in 16 classes of luminance, OFIQ in 256", "score": 83, "native": 0.546875},
                  {
                    "name": "sharpness",
                    "note": "variance of the Laplacian on its own scale; OFIQ's forest is a separate model",
                    "score": 98,
                    "native": 406.95764294011275
                  },
                  {"name": "singleFacePresent", "score": 100, "native": 0},
                  {"name": "naturalColour", "score": 100, "native": 0},
                  {
                    "name": "backgroundUniformity",
                    "note": "approximate: around an ellipse instead of the parsed head",
                    "score": 93,
                    "native": 13.968291416670167
                  },
                  {"name": "leftwardCrop", "score": 100, "native": 3.7738853503184706},
                  {"name": "rightwardCrop", "score": 100, "native": 3.7750648737909867},
                  {"name": "headPoseRoll", "score": 100, "native": 0},
                  {"name": "interEyeDistance", "note": "without correction for yaw", "score": 68, "native": 84.78000000000003},
                  {"name": "eyesOpen", "note": "not assessed: needs the 68-point model"},
                  {"name": "mouthClosed", "note": "not assessed: needs the 68-point model"},
                  {"name": "headSize", "note": "not assessed: needs the 68-point model"},
                  {"name": "marginAbove", "note": "not assessed: needs the 68-point model"},
                  {"name": "marginBelow", "note": "not assessed: needs the 68-point model"},
                  {"name": "headPoseYaw", "note": "not assessed: needs the 68-point model"},
                  {"name": "headPosePitch", "note": "not assessed: needs the 68-point model"},
                  {"name": "compressionArtifacts", "note": "not assessed: needs a network"},
                  {"name": "eyesVisible", "note": "not assessed: needs a network"},
                  {"name": "mouthOcclusionPrevention", "note": "not assessed: needs a network"},
                  {"name": "faceOcclusionPrevention", "note": "not assessed: needs a network"},
                  {"name": "expressionNeutrality", "note": "not assessed: needs a network"},
                  {"name": "noHeadCoverings", "note": "not assessed: needs a network"},
                  {"name": "unifiedQualityScore", "note": "not assessed: needs a network"}
                ],
                "appearance": {},
                "isoConform": "fail",
                "isoReasons": ["headWidth", "eyeDistance", "background"]
              }
            }
          ],
          "engine": {
            "models": {"dlib-resnet-v1/5pt/mirror2": "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30"},
            "versions": {"inspectd": "0.2.0"},
            "timingsMs": {
              "cpu": 905.301088,
              "face": 107.5,
              "decide": 239,
              "cpu.mrz": 20,
              "cpu.viz": 91.8,
              "acquired": 26.3,
              "cpu.file": 7.6,
              "document": 533.8,
              "liveness": 1032.8,
              "cpu.faces": 62.2,
              "cpu.ghost": 19.9,
              "cpu.decode": 11.043057,
              "cpu.barcode": 0,
              "cpu.outline": 7.4,
              "cpu.quality": 26.4
            }
          }
        }
        """#
}
