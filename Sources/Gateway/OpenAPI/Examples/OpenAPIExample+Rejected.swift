extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let rejected = #"""
        {
          "schemaVersion": 1,
          "id": "01a21da9-8d58-73c2-9b5a-51b96009794a",
          "status": 128,
          "workflow": {"key": "id", "definitionKey": "2"},
          "createdAt": "2026-11-27T15:39:40.758Z",
          "startedAt": "2026-11-27T15:39:41.670Z",
          "completedAt": "2026-11-27T15:39:42.743Z",
          "userReference": "user 7",
          "decision": {
            "risk": {"score": 97, "findings": [{"name": "dataChecks.MISMATCH_HRZ_MRZ_DATA", "weight": 90}]},
            "type": "REJECTED",
            "details": {"label": "REJECTED"}
          },
          "capabilities": {
            "usability": [
              {
                "data": {
                  "side": {"kind": "DATA_PAGE", "evidence": ["PORTRAIT", "MRZ_OF_FRONT"], "isCertain": true},
                  "image": {"width": 1600, "format": "JPEG", "height": 1200, "orientation": 1, "storedWidth": 1600, "storedHeight": 1200},
                  "outline": {
                    "quad": {
                      "topLeft": {"x": 155.76584757817307, "y": 143.15733230496642},
                      "topRight": {"x": 1457.3346091490896, "y": 147.8988304395397},
                      "bottomLeft": {"x": 185.63476062178606, "y": 1024.2023492868127},
                      "bottomRight": {"x": 1423.1823163195027, "y": 1039.3074180625533}
                    },
                    "support": 0.9549991884561576,
                    "aspectRatio": 1.4316629676433634,
                    "cornersOutside": 0
                  },
                  "quality": {
                    "moire": 2.160508155822754,
                    "chroma": 65,
                    "contrast": 51.89206283043366,
                    "halftone": 0,
                    "tornEdge": 0,
                    "coherence": 0.1382666102726949,
                    "edgeWidth": 2.3023449465149137,
                    "occlusion": 0,
                    "brightness": 199.67172062485494,
                    "glareShare": 0,
                    "printShare": 0.04734042553191489,
                    "punchedHole": 0.8514749190209007,
                    "midtoneShare": 0.7105153401692709,
                    "documentWidth": 1269.6085669013005,
                    "missingCorner": 0,
                    "balancedChroma": 57,
                    "backgroundChroma": 31,
                    "laplacianVariance": 477.09358748656075
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
                    {"name": "vizAgrees", "reason": "lastName", "outcome": "fail"}
                  ]
                },
                "parts": ["FRONT"],
                "decision": {"type": "REJECTED", "details": {"label": "MISMATCH_HRZ_MRZ_DATA"}}
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
                    "cpuMs": 126.54441900000002,
                    "fields": [
                      {"name": "lastName", "value": "PETROVIC", "comparison": "contradicts", "confidence": 0.9996469020843506},
                      {"name": "firstName", "value": "ANNA MARIA", "comparison": "agrees", "confidence": 0.9996925592422485},
                      {"name": "documentNumber", "value": "L898902C3", "comparison": "agrees", "confidence": 0.9999945163726807},
                      {"name": "dateOfBirth", "value": "12 AUG 1974", "comparison": "agrees", "confidence": 0.9999983310699463},
                      {"name": "expiryDate", "value": "15 APR 2034", "comparison": "agrees", "confidence": 0.9999314546585083},
                      {"name": "nationality", "value": "UTOPIAN", "confidence": 0.9999788999557495},
                      {"name": "personalNumber", "value": "ZE184226B", "confidence": 0.999969482421875},
                      {"name": "placeOfBirth", "value": "ZENITH", "confidence": 0.8550148606300354},
                      {"name": "issuingDate", "value": "2024-04-16", "confidence": 0.9996802806854248},
                      {"name": "issuingAuthority", "value": "PASSPORT OFFICE", "confidence": 1}
                    ],
                    "linesRead": 24,
                    "linesFound": 29,
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
          "reasons": [
            {
              "code": "MISMATCHING_DATA",
              "part": "FRONT",
              "label": "MISMATCH_HRZ_MRZ_DATA",
              "advice": "Photograph the document again, sharp and complete. If this repeats, use another document."
            }
          ],
          "rejectReasons": [],
          "faces": [
            {
              "box": {"x": 287.6351351351351, "y": 418.47297297297297, "width": 214.25675675675677, "height": 212.2162162162162},
              "part": "FRONT",
              "quality": {
                "roll": -0.35367315924645637,
                "chroma": 22.770256834245103,
                "centreX": 0.2528514569256757,
                "visible": 1.0000000628970473,
                "eyeLineY": 0.6035869228603603,
                "headWidth": 0.13016345952968106,
                "sharpness": 363.50104529385845,
                "yawOffset": 0.0015812535721089606,
                "overExposed": 0,
                "dynamicRange": 6.847021806302527,
                "underExposed": 0.08367115291065347,
                "luminanceMean": 0.2610885898059565,
                "colourDistance": 0,
                "interEyeDistance": 86.77563968645404,
                "luminanceVariance": 0.01463293856803484,
                "backgroundGradient": 13.847032333914603,
                "illuminationUniformity": 0.5859375
              },
              "landmarks": [
                {"x": 345.1060810810811, "y": 475.9635135135135},
                {"x": 377.24459459459456, "y": 475.9635135135135},
                {"x": 465.08986486486486, "y": 475.9635135135135},
                {"x": 430.8087837837838, "y": 474.8922297297297},
                {"x": 405.09797297297297, "y": 540.2405405405405}
              ]
            }
          ],
          "engine": {
            "models": {},
            "versions": {"inspectd": "0.2.0"},
            "timingsMs": {
              "cpu": 239.13646799999998,
              "decide": 385.8,
              "cpu.mrz": 23.2,
              "cpu.viz": 126.5,
              "acquired": 15.6,
              "cpu.file": 9.8,
              "document": 641.6,
              "cpu.faces": 10.9,
              "cpu.ghost": 20.8,
              "cpu.decode": 8.295155,
              "cpu.barcode": 0,
              "cpu.outline": 5.3,
              "cpu.quality": 34.4
            }
          }
        }
        """#
}
